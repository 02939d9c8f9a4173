// SPDX-License-Identifier: Apache-2.0
// The bins of the most recent accesses to a file, and the number of these accesses in each bin. The functions have no
// side effects other than changing the window.
#ifndef SRO_WINDOW_H
#define SRO_WINDOW_H

#include <stddef.h>
#include <stdint.h>

struct window {
    uint32_t length;   // maximum number of accesses in the window
    uint32_t held;     // current number of accesses in the window
    uint32_t oldest;   // index of the oldest access in `bins`
    uint32_t mask;     // number of entries of `counts`, minus 1
    uint64_t *bins;    // ring buffer with the bin of each access
    struct bin_count { // hash table with linear probing
        uint64_t bin;
        uint64_t count; // 0 if the entry is empty
    } * counts;
};

// Return the number of bytes that a window of `length` accesses needs. The memory must be aligned to 8 bytes.
size_t window_bytes(uint32_t length);

// Make an empty window in this memory.
void window_begin(struct window *window, uint32_t length, void *memory);

// Add an access, which replaces the oldest one if the window is full. Returns the number of accesses in its bin.
uint64_t window_add(struct window *window, uint64_t bin);

#endif
