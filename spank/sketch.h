// SPDX-License-Identifier: Apache-2.0
// Sketches of sets of numbers, as matcher/submission/sketch.py and minwise.pyx make them: a test compares the two.
#ifndef REPRISE_SKETCH_H
#define REPRISE_SKETCH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define SKETCH_SIZE 32     // letters
#define SKETCH_FEWEST 4    // items; of fewer there is no sketch
#define SKETCH_LEFT_OUT 64 // items that may be taken out again
#define SKETCH_ITEMS 4096u // that count: those with the lowest numbers, the same of every build

// The lowest of the numbers that were added, each once.
struct lowest {
    uint64_t *items;
    size_t count;
    uint64_t beyond; // which nothing counts any more
};

// Returns 0, or -1 without memory; lowest_free may follow all the same.
int lowest_begin(struct lowest *lowest);
void lowest_add(struct lowest *lowest, uint64_t item);
void lowest_free(struct lowest *lowest);

// Take these out, at most SKETCH_LEFT_OUT of them, once everything was added.
void lowest_leave_out(struct lowest *lowest, const uint64_t *items, size_t count);

// The sketch of what was added, "" of too few.
void lowest_sketch(struct lowest *lowest, char sketch[SKETCH_SIZE + 1]);

#endif
