// SPDX-License-Identifier: Apache-2.0
// System calls for code of preloaded libraries that must leave errno and other thread-local variables alone, must not
// be a cancellation point, or runs in threads that libc does not know about. Other code uses these calls in place of
// functions that an older libc lacks (preloaded.mk).
#ifndef RAW_H
#define RAW_H

#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>

// Make a system call. Returns the kernel's result; -4095 to -1 are negative error numbers.
static inline long raw_call(long number, long a, long b, long c, long d, long e, long f)
{
#if defined __x86_64__
    long result;
    register long r10 __asm__("r10") = d;
    register long r8 __asm__("r8") = e;
    register long r9 __asm__("r9") = f;
    __asm__ volatile("syscall"
                     : "=a"(result)
                     : "a"(number), "D"(a), "S"(b), "d"(c), "r"(r10), "r"(r8), "r"(r9)
                     : "rcx", "r11", "memory");
    return result;
#elif defined __aarch64__
    register long x8 __asm__("x8") = number;
    register long x0 __asm__("x0") = a;
    register long x1 __asm__("x1") = b;
    register long x2 __asm__("x2") = c;
    register long x3 __asm__("x3") = d;
    register long x4 __asm__("x4") = e;
    register long x5 __asm__("x5") = f;
    __asm__ volatile("svc 0" : "+r"(x0) : "r"(x8), "r"(x1), "r"(x2), "r"(x3), "r"(x4), "r"(x5) : "memory");
    return x0;
#else
#error "no system calls for this processor: add them here"
#endif
}

// Sleep for less than a second, or until a signal arrives.
static inline void raw_pause(long ns)
{
    const struct timespec time = {.tv_nsec = ns};
    raw_call(SYS_nanosleep, (long)&time, 0, 0, 0, 0, 0);
}

static inline int raw_fstat(int fd, struct stat *status)
{
    return raw_call(SYS_fstat, fd, (long)status, 0, 0, 0, 0) ? -1 : 0;
}

#endif
