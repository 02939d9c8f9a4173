// SPDX-License-Identifier: Apache-2.0
#include "draw.h"

// Apply the finalizer of SplitMix64. draw_bits() calls this function twice, so that neighboring streams and indices are
// uncorrelated.
static uint64_t mix(uint64_t z)
{
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return z ^ (z >> 31);
}

uint64_t draw_bits(unsigned long seed, uint64_t stream, uint64_t index)
{
    const uint64_t golden = 0x9e3779b97f4a7c15u;

    return mix(mix((seed + 1) * golden + stream) + (index + 1) * golden);
}

double draw_signed(unsigned long seed, uint64_t stream, uint64_t index)
{
    return (double)(draw_bits(seed, stream, index) >> 11) * 0x1.0p-52 - 1;
}
