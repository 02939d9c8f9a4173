// SPDX-License-Identifier: Apache-2.0
// Sketches of sets of numbers, computed as in matcher/submission/sketch.py and minwise.pyx; a test compares the
// results.
#ifndef REPRISE_SKETCH_H
#define REPRISE_SKETCH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define SKETCH_SIZE 32     // letters of a sketch
#define SKETCH_FEWEST 4    // smallest number of items for which there is a sketch
#define SKETCH_LEFT_OUT 64 // maximum number of items that lowest_leave_out may remove
#define SKETCH_ITEMS 4096u // the sketch is computed from this many of the lowest items

// The lowest of the numbers that were added, without duplicates.
struct lowest {
    uint64_t *items;
    size_t count;
    uint64_t beyond; // this number and all higher ones are ignored
};

// lowest_begin makes an empty set. It returns 0, or -1 if memory is short; lowest_free may be called in both cases.
// lowest_add adds a number to the set.
int lowest_begin(struct lowest *lowest);
void lowest_add(struct lowest *lowest, uint64_t item);
void lowest_free(struct lowest *lowest);

// Remove `items` (at most SKETCH_LEFT_OUT numbers). Call this after all numbers are added.
void lowest_leave_out(struct lowest *lowest, const uint64_t *items, size_t count);

// Write the sketch of the numbers that were added; an empty string if there are fewer than SKETCH_FEWEST.
void lowest_sketch(struct lowest *lowest, char sketch[SKETCH_SIZE + 1]);

#endif
