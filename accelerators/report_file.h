// SPDX-License-Identifier: Apache-2.0
// The file to which preloaded libraries append a line for each process.
#ifndef REPORT_FILE_H
#define REPORT_FILE_H

#include <stddef.h>

#define REPORT_PATH_BYTES 4096

// Append a line to a file, in which `%p` stands for the process id. Errors are ignored: at the end of a process, there
// is nobody to report them to.
void report_file_append(const char *path, const char *line, size_t length);

// Copy the name of this program, with `?` for characters that JSON does not allow within a string.
void report_file_program(char *name, size_t size);

#endif
