// SPDX-License-Identifier: Apache-2.0
#include "number.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>

int number_take(const char *text, int suffixes, uint64_t high, uint64_t *number, const char **end)
{
    static const char SUFFIXES[] = "kmg";
    uint64_t value = 0;

    if (!isdigit((unsigned char)*text))
        return -1;
    for (; isdigit((unsigned char)*text); text++) {
        value = value * 10 + (uint64_t)(*text - '0');
        if (value > high)
            return -1;
    }
    const char *suffix = suffixes && *text ? strchr(SUFFIXES, tolower((unsigned char)*text)) : NULL;
    if (suffix) {
        value <<= 10 * (suffix - SUFFIXES + 1);
        text++;
    }
    *number = value;
    *end = text;
    return value > high ? -1 : 0;
}

int number_read(const char *name, const char *text, int suffixes, uint64_t low, uint64_t high, uint64_t *number,
                char problem[PROBLEM_BYTES])
{
    const char *end = NULL;

    if (number_take(text, suffixes, high, number, &end) == 0 && !*end && *number >= low)
        return 0;
    snprintf(problem, PROBLEM_BYTES, "--%s takes a number from %llu to %llu, not %.60s", name, (unsigned long long)low,
             (unsigned long long)high, text);
    return -1;
}
