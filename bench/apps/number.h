// SPDX-License-Identifier: Apache-2.0
// Functions that parse numbers on command lines.
#ifndef NUMBER_H
#define NUMBER_H

#include <stdint.h>

enum {
    PROBLEM_BYTES = 512,
};

// Read the number, which is at most `high`, from the beginning of a text. With `suffixes`, a k, m or g after the number
// multiplies it by 1024, 1024^2 or 1024^3. Set `end` to the end of the number and return 0, or return -1 if the text
// does not begin with such a number.
int number_take(const char *text, int suffixes, uint64_t high, uint64_t *number, const char **end);

// Read a text that consists of a single number from `low` to `high`. Return 0, or -1 with a message in `problem` that
// names the option.
int number_read(const char *name, const char *text, int suffixes, uint64_t low, uint64_t high, uint64_t *number,
                char problem[PROBLEM_BYTES]);

#endif
