// SPDX-License-Identifier: Apache-2.0
// Reads numbers from command lines.
#ifndef NUMBER_H
#define NUMBER_H

#include <stdint.h>

enum {
    PROBLEM_BYTES = 512,
};

// Read the number at the beginning of a text, up to `high`; with `suffixes`, a k, m or g after it multiplies by 1024,
// its square or its cube. Returns -1 for anything else; `end` is the end of the number.
int number_take(const char *text, int suffixes, uint64_t high, uint64_t *number, const char **end);

// Read a text that is such a number, `low` or more. Otherwise returns -1 with a sentence in `problem` that names the
// option.
int number_read(const char *name, const char *text, int suffixes, uint64_t low, uint64_t high, uint64_t *number,
                char problem[PROBLEM_BYTES]);

#endif
