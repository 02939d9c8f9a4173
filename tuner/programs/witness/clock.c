// SPDX-License-Identifier: Apache-2.0
#define _GNU_SOURCE
#include "clock.h"

#if defined(__x86_64__)
#include <cpuid.h>
#endif

bool clock_counts;

uint64_t clock_ns(clockid_t which)
{
    struct timespec now;

    clock_gettime(which, &now);
    return (uint64_t)now.tv_sec * 1000000000U + (uint64_t)now.tv_nsec;
}

void clock_choose(bool exact)
{
#if defined(__x86_64__)
    enum { POWER = 0x80000007, INVARIANT_TSC = 1 << 8 };
    unsigned a, b, c, d;

    clock_counts = !exact && __get_cpuid(POWER, &a, &b, &c, &d) && (d & INVARIANT_TSC);
#else
    (void)exact;
#endif
}
