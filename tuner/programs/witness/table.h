// SPDX-License-Identifier: Apache-2.0
// Hashes two numbers, for hash tables and for identifiers that are equal in all processes.
#ifndef WITNESS_TABLE_H
#define WITNESS_TABLE_H

#include <stdint.h>

static inline uint64_t mix(uint64_t a, uint64_t b)
{
    uint64_t x = a * 0x9e3779b97f4a7c15U ^ (b + 0x7f4a7c15U);

    x ^= x >> 32;
    x *= 0xd6e8feb86659fd93U;
    x ^= x >> 32;
    x *= 0xd6e8feb86659fd93U;
    return x ^ x >> 32;
}

#endif
