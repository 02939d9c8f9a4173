// SPDX-License-Identifier: Apache-2.0
// A regular file of which a bounded number of bytes is read.
#ifndef REPRISE_BOUNDED_FILE_H
#define REPRISE_BOUNDED_FILE_H

#include <stddef.h>
#include <stdint.h>

#define BOUNDED_FILE_BYTES (4u << 20) // of one file: 10 ms at most; with much more, IDENTIFY_MS would pass for nothing

struct bounded_file {
    int fd;
    uint64_t size;
    uint64_t left; // bytes that may still be read
};

struct bytes {
    unsigned char *at; // from malloc
    size_t size;
};

// Open what is at `path`, which nothing waits for. Returns 0, or -1 where it is no regular file or cannot be read.
int bounded_file_open(struct bounded_file *file, const char *path);

// Take a descriptor that is open for reading. Returns 0, or -1 where it is of no regular file; it stays open then.
int bounded_file_take(struct bounded_file *file, int fd);

// Read `size` bytes from `start`, fewer at the file's end. Returns 0, or -1 where that is more than may be read, or
// cannot be; `bytes` is nothing then.
int bounded_file_read(struct bounded_file *file, uint64_t start, uint64_t size, struct bytes *bytes);

void bounded_file_close(struct bounded_file *file);

#endif
