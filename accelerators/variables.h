// SPDX-License-Identifier: Apache-2.0
// Functions that read the environment variables of preloaded libraries.
#ifndef VARIABLES_H
#define VARIABLES_H

#include <stdint.h>
#include <stdio.h>
#include <string.h>

// A function that reports an invalid setting. Its argument is a message of one line, without a newline.
typedef void variables_complain(const char *line);

typedef const char *variables_lookup(const char *name);

// Return the number that a text of digits represents; -1 if the text is invalid, or if the number is not from `least`
// (0 or more) to `most`.
static inline int64_t variables_number(const char *text, int64_t least, int64_t most)
{
    int64_t number = 0;
    if (!*text || text[strspn(text, "0123456789")] != '\0') {
        return -1;
    }
    for (; *text; text++) {
        number = number * 10 + (*text - '0');
        if (number > most) {
            return -1;
        }
    }
    return number < least ? -1 : number;
}

// Report that `library` ignores the value of a variable, and what applies instead.
static inline void variables_complain_about(variables_complain *complain, const char *library, const char *name,
                                            const char *value, const char *otherwise)
{
    char line[512];
    snprintf(line, sizeof line, "%s: %s=\"%.100s\" is ignored: %s", library, name, value, otherwise);
    for (char *c = line; *c; c++) {
        *c = (unsigned char)*c < ' ' || *c == 127 ? '?' : *c; // so that the message is one line
    }
    complain(line);
}

#endif
