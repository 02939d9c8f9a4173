// SPDX-License-Identifier: Apache-2.0
#include "sketch.h"

#include <stdlib.h>
#include <string.h>

static const char letters[] = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz+-";

#define KEPT (SKETCH_ITEMS + SKETCH_LEFT_OUT)

int lowest_begin(struct lowest *lowest)
{
    *lowest = (struct lowest){.items = malloc(2 * KEPT * sizeof(uint64_t)), .beyond = UINT64_MAX};
    return lowest->items ? 0 : -1;
}

void lowest_free(struct lowest *lowest)
{
    free(lowest->items);
    *lowest = (struct lowest){0};
}

// Sort numbers by Shellsort with Knuth's gaps. This takes a third of the time of qsort(3), which calls a function for
// each comparison.
static void sort(uint64_t *items, size_t count)
{
    size_t gap = 1;
    while (gap < count / 3) {
        gap = 3 * gap + 1;
    }
    for (; gap > 0; gap /= 3) {
        for (size_t i = gap; i < count; i++) {
            const uint64_t item = items[i];
            size_t at = i;
            for (; at >= gap && items[at - gap] > item; at -= gap) {
                items[at] = items[at - gap];
            }
            items[at] = item;
        }
    }
}

// Sort the numbers, and remove duplicates and all but the lowest KEPT.
static void tidy(struct lowest *lowest)
{
    size_t kept = 0;
    sort(lowest->items, lowest->count);
    for (size_t i = 0; i < lowest->count && kept < KEPT; i++) {
        if (kept == 0 || lowest->items[i] != lowest->items[kept - 1]) {
            lowest->items[kept++] = lowest->items[i];
        }
    }
    lowest->count = kept;
    if (kept == KEPT) {
        lowest->beyond = lowest->items[kept - 1];
    }
}

// The buffer has room for twice as many numbers as are kept, and is sorted only when it is full. After the first sort,
// most numbers of a large program are not below `beyond`, and cost only one comparison.
void lowest_add(struct lowest *lowest, uint64_t item)
{
    if (item >= lowest->beyond) {
        return;
    }
    lowest->items[lowest->count++] = item;
    if (lowest->count == 2 * (size_t)KEPT) {
        tidy(lowest);
    }
}

void lowest_leave_out(struct lowest *lowest, const uint64_t *items, size_t count)
{
    size_t kept = 0;
    tidy(lowest);
    for (size_t i = 0; i < lowest->count; i++) {
        bool stays = true;
        for (size_t other = 0; stays && other < count; other++) {
            stays = lowest->items[i] != items[other];
        }
        if (stays) {
            lowest->items[kept++] = lowest->items[i];
        }
    }
    lowest->count = kept;
}

// Mix the bits of a number with the finalizer of splitmix64 (Steele, Lea, Flood 2014).
static uint64_t mixed(uint64_t number)
{
    number = (number ^ (number >> 30)) * 0xBF58476D1CE4E5B9;
    number = (number ^ (number >> 27)) * 0x94D049BB133111EB;
    return number ^ (number >> 31);
}

void lowest_sketch(struct lowest *lowest, char sketch[SKETCH_SIZE + 1])
{
    tidy(lowest);
    const size_t count = lowest->count < SKETCH_ITEMS ? lowest->count : SKETCH_ITEMS;
    memset(sketch, 0, SKETCH_SIZE + 1);
    if (count < SKETCH_FEWEST) {
        return;
    }
    for (uint64_t shuffle = 1; shuffle <= SKETCH_SIZE; shuffle++) {
        uint64_t least = UINT64_MAX;
        for (size_t i = 0; i < count; i++) {
            const uint64_t number = mixed(lowest->items[i] ^ (shuffle * 0xD6E8FEB86659FD93));
            least = number < least ? number : least;
        }
        sketch[shuffle - 1] = letters[mixed(least) >> 58];
    }
}
