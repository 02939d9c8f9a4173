// SPDX-License-Identifier: Apache-2.0
// The contents of fakeapp's file. Each byte is a function of its offset, so the data of every read can be checked.
#ifndef CONTENT_H
#define CONTENT_H

#include <stddef.h>
#include <stdint.h>

// Fill `bytes` with the `size` bytes that a correct file contains at `offset`.
void content_fill(unsigned char *bytes, size_t size, uint64_t offset);

// Return a checksum of the bytes, the sum of their words of eight bytes. The sum of the checksums of all reads does not
// depend on the order of the reads.
uint64_t content_sum(const unsigned char *bytes, size_t size);

// Create a file of this size and flush it to disk. Return 0. On failure, leave no file, set errno and return -1.
int content_create(const char *path, uint64_t size);

// Drop the file from the page cache. Return 0, or -1 with errno set.
int content_make_cold(int fd);

#endif
