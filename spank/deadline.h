// SPDX-License-Identifier: Apache-2.0
// An absolute point in monotonic time, passed down to everything that waits.
#ifndef REPRISE_DEADLINE_H
#define REPRISE_DEADLINE_H

#include <stdint.h>
#include <time.h>

typedef int64_t nanoseconds;

static inline nanoseconds monotonic_now(void)
{
    struct timespec now = {0};
    clock_gettime(CLOCK_MONOTONIC, &now); // cannot fail for this clock
    return (nanoseconds)now.tv_sec * 1000000000 + now.tv_nsec;
}

static inline nanoseconds deadline_in_ms(int ms)
{
    return monotonic_now() + (nanoseconds)ms * 1000000;
}

// Milliseconds left for poll(2), rounded up so that a wait never spins; 0 once the deadline has passed.
static inline int deadline_left_ms(nanoseconds deadline)
{
    nanoseconds left = deadline - monotonic_now();
    return left <= 0 ? 0 : (int)((left + 999999) / 1000000);
}

#endif
