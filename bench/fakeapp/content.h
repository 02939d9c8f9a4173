// SPDX-License-Identifier: Apache-2.0
// The contents of the file: each byte is a function of its position, so that every read can be checked.
#ifndef CONTENT_H
#define CONTENT_H

#include <stddef.h>
#include <stdint.h>

// The bytes that belong at `offset`.
void content_fill(unsigned char *bytes, size_t size, uint64_t offset);

// The sum of the bytes in words of eight; the total does not depend on the order of reads.
uint64_t content_sum(const unsigned char *bytes, size_t size);

// Create a file of this size, on the disk when it returns. Returns 0; or -1 and errno, and then there is no file.
int content_create(const char *path, uint64_t size);

// Drop the file from the page cache. Returns 0, or -1 and errno.
int content_make_cold(int fd);

#endif
