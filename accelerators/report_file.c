// SPDX-License-Identifier: Apache-2.0
#define _GNU_SOURCE
#include "report_file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <unistd.h>

// Copy a path and replace %p by the process id. Returns 0, or -1 if the result is too long.
static int expand(char *to, size_t size, const char *path, long pid)
{
    size_t length = 0;
    for (; *path; path++) {
        int more = 1;
        if (path[0] == '%' && path[1] == 'p') {
            more = snprintf(to + length, size - length, "%ld", pid);
            path++;
        } else if (length + 1 < size) {
            to[length] = *path;
        }
        length += (size_t)more;
        if (length >= size) {
            return -1;
        }
    }
    to[length] = '\0';
    return 0;
}

void report_file_append(const char *path, const char *line, size_t length)
{
    char expanded[REPORT_PATH_BYTES + 32];
    if (expand(expanded, sizeof expanded, path, (long)getpid())) {
        return;
    }
    int fd = open(expanded, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC | O_NOCTTY | O_NONBLOCK, 0666);
    if (fd >= 0) {
        if (write(fd, line, length) < 0) {
            // the line is lost
        }
        close(fd);
    }
}

void report_file_program(char *name, size_t size)
{
    size_t length = 0;
    for (; program_invocation_short_name[length] && length < size - 1; length++) {
        unsigned char c = (unsigned char)program_invocation_short_name[length];
        name[length] = c < ' ' || c > '~' || c == '"' || c == '\\' ? '?' : (char)c;
    }
    name[length] = '\0';
}
