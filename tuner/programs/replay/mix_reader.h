// SPDX-License-Identifier: Apache-2.0
// Parts of a mix's lines: numbers, lists of them, and the keys of one call.
#ifndef REPRISE_MIX_READER_H
#define REPRISE_MIX_READER_H

#include <stdint.h>

#include "mix.h"

struct mix_reader {
    struct mix *mix;
    const char *path;
    long line;
    int rank;
    int is_own;   // the lines belong to this rank
    int is_found; // this rank's lines were found
    int open[MIX_DEPTH_MAX];
    int depth;
};

// Set the mix's error to one line: the file, the line number, and this text. Returns -1.
__attribute__((format(printf, 2, 3))) int mix_fail(struct mix_reader *r, const char *format, ...);

// Read the number at the start of a text, and set `end` after it. Returns 0, or -1 with a message.
int mix_number(struct mix_reader *r, const char *text, char **end, int64_t low, int64_t high, int64_t *value);

// Read a text that consists of one number.
int mix_whole_number(struct mix_reader *r, const char *text, int64_t low, int64_t high, int64_t *value);

// Read a list such as `4*1024,0,8` with at most `capacity` values. Returns their number, or -1.
int mix_list(struct mix_reader *r, const char *text, int64_t high, int64_t *values, int capacity);

// Read one `KEY=VALUE` of a call. Returns 0, or -1 with a message.
int mix_read_key(struct mix_reader *r, char *word, struct mix_step *step);

// Report steps that MPI would reject or that would read out of bounds, and fill in the counts.
int mix_check_step(struct mix_reader *r, struct mix_step *step);

#endif
