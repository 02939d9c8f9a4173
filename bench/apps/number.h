// SPDX-License-Identifier: Apache-2.0
// Numbers of command lines.
#ifndef NUMBER_H
#define NUMBER_H

#include <stdint.h>

enum {
    PROBLEM_BYTES = 512,
};

// The digits at the beginning of a text, up to `high`; with `suffixes`, k, m or g behind them count 1024, its square
// and its cube. Returns -1 for anything else; `end` is where it ends.
int number_take(const char *text, int suffixes, uint64_t high, uint64_t *number, const char **end);

// A whole text that is such a number, `low` or more. Otherwise -1, and `problem` is a sentence that names the option.
int number_read(const char *name, const char *text, int suffixes, uint64_t low, uint64_t high, uint64_t *number,
                char problem[PROBLEM_BYTES]);

#endif
