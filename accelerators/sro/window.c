// SPDX-License-Identifier: Apache-2.0
#include "window.h"

#include <string.h>

// Return the size of the hash table, a power of 2 that is at least twice the maximum number of bins in the window.
static uint32_t places(uint32_t length)
{
    uint32_t count = 2;
    while (count < 2 * length) {
        count *= 2;
    }
    return count;
}

size_t window_bytes(uint32_t length)
{
    return length * sizeof(uint64_t) + places(length) * sizeof(struct bin_count);
}

void window_begin(struct window *window, uint32_t length, void *memory)
{
    memset(memory, 0, window_bytes(length));
    window->length = length;
    window->held = 0;
    window->oldest = 0;
    window->mask = places(length) - 1;
    window->bins = memory;
    window->counts = (struct bin_count *)(window->bins + length);
}

static uint32_t home(const struct window *window, uint64_t bin)
{
    return (uint32_t)((bin * 0x9E3779B97F4A7C15ULL) >> 32) & window->mask;
}

// Return the index in `counts` of a bin's entry, or of the entry where the bin would be inserted.
static uint32_t find(const struct window *window, uint64_t bin)
{
    uint32_t place = home(window, bin);
    while (window->counts[place].count && window->counts[place].bin != bin) {
        place = (place + 1) & window->mask;
    }
    return place;
}

// Empty the entry at index `place`, and move entries that a search would then no longer find.
static void take_out(struct window *window, uint32_t place)
{
    uint32_t next = place;
    for (;;) {
        next = (next + 1) & window->mask;
        if (!window->counts[next].count) {
            break;
        }
        uint32_t wanted = home(window, window->counts[next].bin);
        if (((next - wanted) & window->mask) >= ((next - place) & window->mask)) {
            window->counts[place] = window->counts[next];
            place = next;
        }
    }
    window->counts[place].count = 0;
}

uint64_t window_add(struct window *window, uint64_t bin)
{
    if (window->held < window->length) {
        window->held++;
    } else {
        uint32_t place = find(window, window->bins[window->oldest]);
        if (--window->counts[place].count == 0) {
            take_out(window, place);
        }
    }
    window->bins[window->oldest] = bin;
    window->oldest = window->oldest + 1 == window->length ? 0 : window->oldest + 1;
    uint32_t place = find(window, bin);
    window->counts[place].bin = bin;
    return ++window->counts[place].count;
}
