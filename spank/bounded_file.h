// SPDX-License-Identifier: Apache-2.0
// Reads a bounded number of bytes from a regular file.
#ifndef REPRISE_BOUNDED_FILE_H
#define REPRISE_BOUNDED_FILE_H

#include <stddef.h>
#include <stdint.h>

#define BOUNDED_FILE_BYTES (4u << 20) // limit per file, read in at most 10 ms; far more would exceed IDENTIFY_MS

struct bounded_file {
    int fd;
    uint64_t size;
    uint64_t left; // bytes that may still be read
};

struct bytes {
    unsigned char *at; // allocated by malloc
    size_t size;
};

// Open the file at `path` without ever blocking. Returns 0, or -1 if it is not a regular file or cannot be read.
int bounded_file_open(struct bounded_file *file, const char *path);

// Take over a descriptor that is open for reading. Returns 0, or -1 if the descriptor is not a regular file; it then
// stays open.
int bounded_file_take(struct bounded_file *file, int fd);

// Read `size` bytes from `start`, or fewer at the end of the file. Returns 0, or -1 if all reads from this file
// together would exceed BOUNDED_FILE_BYTES, or if the read fails; `bytes` is then empty.
int bounded_file_read(struct bounded_file *file, uint64_t start, uint64_t size, struct bytes *bytes);

void bounded_file_close(struct bounded_file *file);

#endif
