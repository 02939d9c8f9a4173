// SPDX-License-Identifier: Apache-2.0
#include "log.h"

#include <stdarg.h>
#include <stdio.h>
#include <time.h>

#define LINES_PER_SECOND 20

void log_line(const char *format, ...)
{
    static time_t second;
    static unsigned lines;
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    if (now.tv_sec != second) {
        if (lines > LINES_PER_SECOND) {
            fprintf(stderr, "reprise-forwarder: %u lines were left out\n", lines - LINES_PER_SECOND);
        }
        second = now.tv_sec;
        lines = 0;
    }
    if (++lines > LINES_PER_SECOND) {
        return;
    }
    char text[800];
    va_list values;
    va_start(values, format);
    vsnprintf(text, sizeof text, format, values);
    va_end(values);
    for (char *c = text; *c; c++) {
        *c = (unsigned char)*c < ' ' || *c == 127 ? '?' : *c; // a path must not make two lines of one
    }
    fprintf(stderr, "reprise-forwarder: %s\n", text);
}
