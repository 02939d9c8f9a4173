// SPDX-License-Identifier: Apache-2.0
#include "sketch.h"

#include <stdlib.h>
#include <string.h>

static const char letters[] = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz+-";

int lowest_begin(struct lowest *lowest)
{
    *lowest = (struct lowest){.items = malloc(2 * SKETCH_ITEMS * sizeof(uint64_t)), .beyond = UINT64_MAX};
    return lowest->items ? 0 : -1;
}

void lowest_free(struct lowest *lowest)
{
    free(lowest->items);
    *lowest = (struct lowest){0};
}

static int compare(const void *left, const void *right)
{
    const uint64_t a = *(const uint64_t *)left;
    const uint64_t b = *(const uint64_t *)right;
    return (a > b) - (a < b);
}

// Sort, and leave out what is there twice or no longer counts.
static void tidy(struct lowest *lowest)
{
    size_t kept = 0;
    qsort(lowest->items, lowest->count, sizeof *lowest->items, compare);
    for (size_t i = 0; i < lowest->count && kept < SKETCH_ITEMS; i++) {
        if (kept == 0 || lowest->items[i] != lowest->items[kept - 1]) {
            lowest->items[kept++] = lowest->items[i];
        }
    }
    lowest->count = kept;
    if (kept == SKETCH_ITEMS) {
        lowest->beyond = lowest->items[kept - 1];
    }
}

// Sorted only once they are twice as many: most numbers of a large program are beyond by then, and cost a comparison.
void lowest_add(struct lowest *lowest, uint64_t item)
{
    if (item >= lowest->beyond) {
        return;
    }
    lowest->items[lowest->count++] = item;
    if (lowest->count == 2 * (size_t)SKETCH_ITEMS) {
        tidy(lowest);
    }
}

// The finalizer of splitmix64 (Steele, Lea, Flood 2014).
static uint64_t mixed(uint64_t number)
{
    number = (number ^ (number >> 30)) * 0xBF58476D1CE4E5B9;
    number = (number ^ (number >> 27)) * 0x94D049BB133111EB;
    return number ^ (number >> 31);
}

void lowest_sketch(struct lowest *lowest, char sketch[SKETCH_SIZE + 1])
{
    tidy(lowest);
    memset(sketch, 0, SKETCH_SIZE + 1);
    if (lowest->count < SKETCH_FEWEST) {
        return;
    }
    for (uint64_t shuffle = 1; shuffle <= SKETCH_SIZE; shuffle++) {
        uint64_t least = UINT64_MAX;
        for (size_t i = 0; i < lowest->count; i++) {
            const uint64_t number = mixed(lowest->items[i] ^ (shuffle * 0xD6E8FEB86659FD93));
            least = number < least ? number : least;
        }
        sketch[shuffle - 1] = letters[mixed(least) >> 58];
    }
}
