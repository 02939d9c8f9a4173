// SPDX-License-Identifier: Apache-2.0
// Reads the parts of a line of a mix file: numbers, lists of numbers, and the keys of a call.
#ifndef REPRISE_MIX_READER_H
#define REPRISE_MIX_READER_H

#include <stdint.h>

#include "mix.h"

struct mix_reader {
    struct mix *mix;
    const char *path;
    long line;
    int rank;
    int is_own;   // the current lines belong to this rank
    int is_found; // this rank's lines were found
    int open[MIX_DEPTH_MAX];
    int depth;
};

// Set the mix's error to a line with the file's name, the line number and this text. Returns -1.
__attribute__((format(printf, 2, 3))) int mix_fail(struct mix_reader *r, const char *format, ...);

// Read a number from `low` to `high` at the start of a text, and set `*end` to the text after the number. On failure,
// this function and those below return -1 and set the mix's error.
int mix_number(struct mix_reader *r, const char *text, char **end, int64_t low, int64_t high, int64_t *value);

// Read a text that consists of one number from `low` to `high`. Returns 0 or -1.
int mix_whole_number(struct mix_reader *r, const char *text, int64_t low, int64_t high, int64_t *value);

// Read a list such as `4*1024,0,8` (four times 1024, then 0 and 8) with at most `capacity` values. Returns the number
// of values, or -1.
int mix_list(struct mix_reader *r, const char *text, int64_t high, int64_t *values, int capacity);

// Read one `KEY=VALUE` of a call. Returns 0 or -1.
int mix_read_key(struct mix_reader *r, char *word, struct mix_step *step);

// Reject a step that MPI would reject or that would read out of bounds, and compute the step's counts. Returns 0 or -1.
int mix_check_step(struct mix_reader *r, struct mix_step *step);

#endif
