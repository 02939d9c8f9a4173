// SPDX-License-Identifier: Apache-2.0
// Random numbers by index: any rank can compute any of them without drawing the ones before.
#ifndef DRAW_H
#define DRAW_H

#include <stdint.h>

// From 0 to 2^64 - 1; depends on all arguments.
uint64_t draw_bits(unsigned long seed, uint64_t stream, uint64_t index);

// From -1 to 1.
double draw_signed(unsigned long seed, uint64_t stream, uint64_t index);

#endif
