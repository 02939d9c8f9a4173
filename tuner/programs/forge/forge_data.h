// SPDX-License-Identifier: Apache-2.0
// Content of the files of the forwarding explorer: each byte follows from its position and from the file's seed, so
// that data of another position, file or run differ.
#ifndef REPRISE_FORGE_DATA_H
#define REPRISE_FORGE_DATA_H

#include <stddef.h>
#include <stdint.h>

void forge_data_fill(unsigned char *buffer, size_t size, uint64_t seed, uint64_t position);

// Return the number of bytes at the buffer's start that have the content of this position: `size` if all have.
size_t forge_data_equal(const unsigned char *buffer, size_t size, uint64_t seed, uint64_t position);

#endif
