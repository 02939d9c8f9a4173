// SPDX-License-Identifier: Apache-2.0
// Records the names of files that a process reads and has not written. In a later run, these files may be cached in
// memory, which makes reading them faster.
#ifndef WITNESS_POSIX_INPUTS_H
#define WITNESS_POSIX_INPUTS_H

#include <sys/stat.h>

// Record the name of a regular file, once, if it has at least INPUT_BYTES and is open for reading. Changes errno.
void input_note(int fd, const struct stat *found);

#endif
