// SPDX-License-Identifier: Apache-2.0
// What reading a mix's lines takes: numbers, lists of them, and the keys of one call.
#ifndef REPRISE_MIX_READER_H
#define REPRISE_MIX_READER_H

#include <stdint.h>

#include "mix.h"

struct mix_reader {
    struct mix *mix;
    const char *path;
    long line;
    int rank;
    int is_own;   // the lines are this rank's
    int is_found; // this rank's lines were there
    int open[MIX_DEPTH_MAX];
    int depth;
};

// Put one line into the mix's error: the file, the line, and this. Returns -1.
__attribute__((format(printf, 2, 3))) int mix_fail(struct mix_reader *r, const char *format, ...);

// The number that a text begins with, and where it ends. Returns 0, or -1 with a message.
int mix_number(struct mix_reader *r, const char *text, char **end, int64_t low, int64_t high, int64_t *value);

// The number that a text is.
int mix_whole_number(struct mix_reader *r, const char *text, int64_t low, int64_t high, int64_t *value);

// `4*1024,0,8`: as many values as `capacity`, or fewer. Returns how many, or -1.
int mix_list(struct mix_reader *r, const char *text, int64_t high, int64_t *values, int capacity);

// Take in `KEY=VALUE` of a call. Returns 0, or -1 with a message.
int mix_read_key(struct mix_reader *r, char *word, struct mix_step *step);

// Say what the calls of MPI would take amiss, or read beyond its end, and fill in the counts.
int mix_check_step(struct mix_reader *r, struct mix_step *step);

#endif
