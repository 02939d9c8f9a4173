// SPDX-License-Identifier: Apache-2.0
// Deadlines, which are absolute points in monotonic time. They are passed to every function that waits.
#ifndef REPRISE_DEADLINE_H
#define REPRISE_DEADLINE_H

#include <stdint.h>
#include <time.h>

typedef int64_t nanoseconds;

static inline nanoseconds monotonic_now(void)
{
    struct timespec now = {0};
    clock_gettime(CLOCK_MONOTONIC, &now); // clock_gettime cannot fail for this clock
    return (nanoseconds)now.tv_sec * 1000000000 + now.tv_nsec;
}

static inline nanoseconds deadline_in_ms(int ms)
{
    return monotonic_now() + (nanoseconds)ms * 1000000;
}

static inline int deadline_passed(nanoseconds deadline)
{
    return deadline <= monotonic_now();
}

// Return the time left until a deadline, for ppoll(2); zero after the deadline.
static inline struct timespec deadline_left(nanoseconds deadline)
{
    const nanoseconds left = deadline - monotonic_now();
    if (left <= 0) {
        return (struct timespec){0};
    }
    return (struct timespec){.tv_sec = left / 1000000000, .tv_nsec = left % 1000000000};
}

#endif
