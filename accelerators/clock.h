// SPDX-License-Identifier: Apache-2.0
// The clock of preloaded libraries.
#ifndef CLOCK_H
#define CLOCK_H

#include <stdint.h>
#include <time.h>

// Return the nanoseconds of a clock that never goes back.
static inline int64_t clock_now_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return now.tv_sec * 1000000000LL + now.tv_nsec;
}

#endif
