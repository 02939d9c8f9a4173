// SPDX-License-Identifier: Apache-2.0
// The last accesses to a file, as bins and the number of accesses in each. Pure functions.
#ifndef SRO_WINDOW_H
#define SRO_WINDOW_H

#include <stddef.h>
#include <stdint.h>

struct window {
    uint32_t length;   // accesses that are remembered
    uint32_t held;     // up to `length`
    uint32_t oldest;   // index of the oldest in `bins`
    uint32_t mask;     // places in `counts`, less 1
    uint64_t *bins;    // a ring
    struct bin_count { // an open-addressed table without gaps between a bin's hash and its place
        uint64_t bin;
        uint64_t count; // 0: empty
    } * counts;
};

// Bytes of memory for `length` accesses, aligned to 8.
size_t window_bytes(uint32_t length);

// An empty window in this memory.
void window_begin(struct window *window, uint32_t length, void *memory);

// Add an access, which replaces the oldest if necessary. Returns the number of remembered accesses in its bin.
uint64_t window_add(struct window *window, uint64_t bin);

#endif
