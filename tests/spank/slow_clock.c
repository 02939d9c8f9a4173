// SPDX-License-Identifier: Apache-2.0
// A clock that is slowed down as much as programs under valgrind, so that the plugin meets its deadlines under
// valgrind. Linked with --wrap=clock_gettime.
#include <time.h>

#define SLOWER 20 // valgrind's documentation says that programs run 10 to 50 times slower

int __real_clock_gettime(clockid_t clock, struct timespec *now);
int __wrap_clock_gettime(clockid_t clock, struct timespec *now);
int __wrap_clock_gettime(clockid_t clock, struct timespec *now)
{
    int result = __real_clock_gettime(clock, now);
    long long nanoseconds = (now->tv_sec * 1000000000LL + now->tv_nsec) / SLOWER;
    *now = (struct timespec){.tv_sec = nanoseconds / 1000000000, .tv_nsec = nanoseconds % 1000000000};
    return result;
}
