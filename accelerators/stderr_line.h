// SPDX-License-Identifier: Apache-2.0
// Messages of preloaded libraries.
#ifndef STDERR_LINE_H
#define STDERR_LINE_H

#include <string.h>
#include <unistd.h>

// Write a line to standard error, without the buffers of stdio.
static inline void stderr_line(const char *line)
{
    char text[600];
    size_t length = strlen(line);
    length = length < sizeof text - 1 ? length : sizeof text - 1;
    memcpy(text, line, length);
    text[length++] = '\n';
    if (write(STDERR_FILENO, text, length) < 0) {
        return; // standard error cannot be written, so the message is lost
    }
}

#endif
