// SPDX-License-Identifier: Apache-2.0
// Measures time in ticks. If the processor's counter runs at a constant rate, a tick is one count, because reading the
// counter takes a third of the time of clock_gettime. Otherwise a tick is a nanosecond of CLOCK_MONOTONIC. The length
// of a tick in nanoseconds is known only at the end of the process, from a comparison of both clocks.
#ifndef WITNESS_CLOCK_H
#define WITNESS_CLOCK_H

#include <stdbool.h>
#include <stdint.h>
#include <time.h>

extern bool clock_counts; // true if the processor's counter is used

uint64_t clock_ns(clockid_t which);

static inline uint64_t clock_ticks(void)
{
#if defined(__x86_64__)
    if (clock_counts)
        return __builtin_ia32_rdtsc();
#endif
    return clock_ns(CLOCK_MONOTONIC);
}

// Choose the clock. Call this once, before anything is measured. With `exact`, ticks are always nanoseconds.
void clock_choose(bool exact);

#endif
