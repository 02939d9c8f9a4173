// SPDX-License-Identifier: Apache-2.0
// A clock that is slowed down as valgrind slows down everything else, so that deadlines hold on a busy machine too.
// Linked with --wrap=clock_gettime.
#include <time.h>

#define SLOWER 20 // valgrind's documentation says 10 to 50

int __real_clock_gettime(clockid_t clock, struct timespec *now);
int __wrap_clock_gettime(clockid_t clock, struct timespec *now);
int __wrap_clock_gettime(clockid_t clock, struct timespec *now)
{
    int result = __real_clock_gettime(clock, now);
    long long nanoseconds = (now->tv_sec * 1000000000LL + now->tv_nsec) / SLOWER;
    *now = (struct timespec){.tv_sec = nanoseconds / 1000000000, .tv_nsec = nanoseconds % 1000000000};
    return result;
}
