// SPDX-License-Identifier: Apache-2.0
#include "forge_data.h"

#include <string.h>

#define WORD 8

// The mixing function of SplitMix64 (Steele, Lea and Flood 2014).
static uint64_t word_at(uint64_t seed, uint64_t index)
{
    uint64_t z = seed + (index + 1) * 0x9E3779B97F4A7C15U;
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9U;
    z = (z ^ (z >> 27)) * 0x94D049BB133111EBU;
    return z ^ (z >> 31);
}

// Return the number of bytes at `position` that belong to one word, at most `left`, and copy them.
static size_t part_at(uint64_t seed, uint64_t position, size_t left, unsigned char part[WORD])
{
    const uint64_t word = word_at(seed, position / WORD);
    const size_t skipped = position % WORD;
    const size_t size = WORD - skipped < left ? WORD - skipped : left;
    memcpy(part, (const unsigned char *)&word + skipped, size);
    return size;
}

void forge_data_fill(unsigned char *buffer, size_t size, uint64_t seed, uint64_t position)
{
    for (size_t done = 0; done < size;) {
        unsigned char part[WORD];
        const size_t length = part_at(seed, position + done, size - done, part);
        memcpy(buffer + done, part, length);
        done += length;
    }
}

size_t forge_data_equal(const unsigned char *buffer, size_t size, uint64_t seed, uint64_t position)
{
    for (size_t done = 0; done < size;) {
        unsigned char part[WORD];
        const size_t length = part_at(seed, position + done, size - done, part);
        for (size_t i = 0; i < length; i++)
            if (buffer[done + i] != part[i])
                return done + i;
        done += length;
    }
    return size;
}
