// SPDX-License-Identifier: Apache-2.0
// Wrappers of functions that close descriptors or change what they refer to, for preloaded libraries.
#define _GNU_SOURCE
#include <limits.h>
#include <stdio.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "descriptors.h"
#include "libc_names.h"
#include "next.h"

#define ONLY_MARKED 4 // CLOSE_RANGE_CLOEXEC, which only marks descriptors and closes none

// A program that checks at run time whether libc has close_range and closefrom (glibc 2.34 does) always finds these
// wrappers, so they must work without libc's functions.
#define CALL_CLOSE_RANGE 436 // number of the system call on every architecture

#ifndef FORWARD_BURST // for jobs with a burst buffer, forward/client/wrap_burst.c wraps these functions
EXPORTED int close(int fd)
{
    descriptors_forget(fd, fd);
    return NEXT(close)(fd);
}

EXPORTED int __close(int fd)
{
    descriptors_forget(fd, fd);
    return NEXT(__close)(fd);
}
#endif

EXPORTED int dup2(int from, int to)
{
    if (from != to) {
        descriptors_forget(to, to);
    }
    return NEXT(dup2)(from, to);
}

EXPORTED int __dup2(int from, int to)
{
    if (from != to) {
        descriptors_forget(to, to);
    }
    return NEXT(__dup2)(from, to);
}

EXPORTED int dup3(int from, int to, int flags)
{
    if (from != to) {
        descriptors_forget(to, to);
    }
    return NEXT(dup3)(from, to, flags);
}

EXPORTED int close_range(unsigned first, unsigned last, int flags)
{
    if (!(flags & ONLY_MARKED) && first <= INT_MAX) {
        descriptors_forget((int)first, last <= INT_MAX ? (int)last : INT_MAX);
    }
    return NEXT(close_range) ? NEXT(close_range)(first, last, flags)
                             : (int)syscall(CALL_CLOSE_RANGE, first, last, flags);
}

EXPORTED void closefrom(int first)
{
    descriptors_forget(first, INT_MAX);
    if (NEXT(closefrom)) {
        NEXT(closefrom)(first);
    } else {
        close_range(first < 0 ? 0 : (unsigned)first, ~0U, 0);
    }
}

#ifndef FORWARD_BURST
EXPORTED int fclose(FILE *stream)
{
    descriptors_forget(stream->_fileno, stream->_fileno);
    return NEXT(fclose)(stream);
}

EXPORTED FILE *freopen(const char *path, const char *mode, FILE *stream)
{
    descriptors_forget(stream->_fileno, stream->_fileno);
    return NEXT(freopen)(path, mode, stream);
}

EXPORTED FILE *freopen64(const char *path, const char *mode, FILE *stream)
{
    descriptors_forget(stream->_fileno, stream->_fileno);
    return NEXT(freopen64)(path, mode, stream);
}
#endif
