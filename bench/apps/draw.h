// SPDX-License-Identifier: Apache-2.0
// Random numbers by index: any rank can compute any number without drawing the
// numbers before it.
#ifndef DRAW_H
#define DRAW_H

#include <stdint.h>

// Return a random number from 0 to 2^64 - 1, determined by the three arguments.
uint64_t draw_bits(unsigned long seed, uint64_t stream, uint64_t index);

// Return a random number from -1 to 1, determined by the three arguments.
double draw_signed(unsigned long seed, uint64_t stream, uint64_t index);

#endif
