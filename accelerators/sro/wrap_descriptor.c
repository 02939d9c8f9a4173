// SPDX-License-Identifier: Apache-2.0
// Wrappers of functions that change the meaning or the position of a descriptor.
#define _GNU_SOURCE
#include <fcntl.h>
#include <sched.h>
#include <stdio.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "access.h"
#include "files.h"
#include "next.h"

// Functions that not all supported versions of libc declare.
int close_range(unsigned first, unsigned last, int flags);
void closefrom(int first);
int __close(int fd);
int __dup2(int from, int to);
off_t __lseek(int fd, off_t offset, int whence);

#define ONLY_MARKED 4 // CLOSE_RANGE_CLOEXEC, which only marks descriptors and closes none

// A program that checks at run time whether libc has close_range and closefrom (glibc 2.34 does) always finds these
// wrappers, so they must work without libc's functions.
#define CALL_CLOSE_RANGE 436 // number of the system call on every architecture

EXPORTED int close(int fd)
{
    files_forget(fd, fd);
    return NEXT(close)(fd);
}

EXPORTED int __close(int fd)
{
    files_forget(fd, fd);
    return NEXT(__close)(fd);
}

EXPORTED int dup2(int from, int to)
{
    if (from != to) {
        files_forget(to, to);
    }
    return NEXT(dup2)(from, to);
}

EXPORTED int __dup2(int from, int to)
{
    if (from != to) {
        files_forget(to, to);
    }
    return NEXT(__dup2)(from, to);
}

EXPORTED int dup3(int from, int to, int flags)
{
    if (from != to) {
        files_forget(to, to);
    }
    return NEXT(dup3)(from, to, flags);
}

EXPORTED int close_range(unsigned first, unsigned last, int flags)
{
    if (!(flags & ONLY_MARKED) && first < DESCRIPTORS_MAX) {
        files_forget((int)first, last < DESCRIPTORS_MAX ? (int)last : DESCRIPTORS_MAX - 1);
    }
    return NEXT(close_range) ? NEXT(close_range)(first, last, flags)
                             : (int)syscall(CALL_CLOSE_RANGE, first, last, flags);
}

EXPORTED void closefrom(int first)
{
    files_forget(first, DESCRIPTORS_MAX - 1);
    if (NEXT(closefrom)) {
        NEXT(closefrom)(first);
    } else {
        close_range(first < 0 ? 0 : (unsigned)first, ~0U, 0);
    }
}

EXPORTED int fclose(FILE *stream)
{
    files_forget(stream->_fileno, stream->_fileno);
    return NEXT(fclose)(stream);
}

EXPORTED FILE *freopen(const char *path, const char *mode, FILE *stream)
{
    files_forget(stream->_fileno, stream->_fileno);
    return NEXT(freopen)(path, mode, stream);
}

EXPORTED FILE *freopen64(const char *path, const char *mode, FILE *stream)
{
    files_forget(stream->_fileno, stream->_fileno);
    return NEXT(freopen64)(path, mode, stream);
}

EXPORTED off_t lseek(int fd, off_t offset, int whence)
{
    const off_t position = NEXT(lseek)(fd, offset, whence);
    access_moved(fd, position);
    return position;
}

EXPORTED off64_t lseek64(int fd, off64_t offset, int whence)
{
    const off64_t position = NEXT(lseek64)(fd, offset, whence);
    access_moved(fd, position);
    return position;
}

EXPORTED off_t __lseek(int fd, off_t offset, int whence)
{
    const off_t position = NEXT(__lseek)(fd, offset, whence);
    access_moved(fd, position);
    return position;
}

// End the library's threads, because a process with several threads may not enter some namespaces.
EXPORTED int unshare(int flags)
{
    files_stop();
    return NEXT(unshare)(flags);
}

EXPORTED int setns(int fd, int type)
{
    files_stop();
    return NEXT(setns)(fd, type);
}
