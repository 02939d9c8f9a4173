// SPDX-License-Identifier: Apache-2.0
// Sketches of sets of numbers, as in matcher/submission/sketch.py and minwise.pyx; a test compares the two.
#ifndef REPRISE_SKETCH_H
#define REPRISE_SKETCH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define SKETCH_SIZE 32     // letters
#define SKETCH_FEWEST 4    // items; fewer have no sketch
#define SKETCH_LEFT_OUT 64 // items that may be removed again
#define SKETCH_ITEMS 4096u // that count: the lowest numbers, which are the same in every build

// The lowest of the numbers that were added, without duplicates.
struct lowest {
    uint64_t *items;
    size_t count;
    uint64_t beyond; // numbers from here on no longer count
};

// Returns 0, or -1 without memory; lowest_free may be called in both cases.
int lowest_begin(struct lowest *lowest);
void lowest_add(struct lowest *lowest, uint64_t item);
void lowest_free(struct lowest *lowest);

// Remove `items`, at most SKETCH_LEFT_OUT of them, once everything is added.
void lowest_leave_out(struct lowest *lowest, const uint64_t *items, size_t count);

// Write the sketch of the numbers that were added, "" if there are too few.
void lowest_sketch(struct lowest *lowest, char sketch[SKETCH_SIZE + 1]);

#endif
