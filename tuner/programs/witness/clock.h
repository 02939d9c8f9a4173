// SPDX-License-Identifier: Apache-2.0
// Time in ticks: of the processor's counter if it runs evenly (reading it takes a third of the time of clock_gettime),
// otherwise nanoseconds of CLOCK_MONOTONIC. The length of a tick in nanoseconds is only known at the end, from both
// clocks.
#ifndef WITNESS_CLOCK_H
#define WITNESS_CLOCK_H

#include <stdbool.h>
#include <stdint.h>
#include <time.h>

extern bool clock_counts; // the processor's counter is used

uint64_t clock_ns(clockid_t which);

static inline uint64_t clock_ticks(void)
{
#if defined(__x86_64__)
    if (clock_counts)
        return __builtin_ia32_rdtsc();
#endif
    return clock_ns(CLOCK_MONOTONIC);
}

// Choose the clock; called once, before anything is measured. `exact`: always nanoseconds.
void clock_choose(bool exact);

#endif
