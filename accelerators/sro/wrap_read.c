// SPDX-License-Identifier: Apache-2.0
// read(), pread(), readv() and all that they are also called. Each calls the next one, unchanged.
#define _GNU_SOURCE
#include <sys/uio.h>
#include <unistd.h>

#include "access.h"
#include "next.h"

// What programs are compiled to call where they are fortified, and names of libc's own that it exports.
ssize_t __read(int fd, void *to, size_t bytes);
ssize_t __read_chk(int fd, void *to, size_t bytes, size_t room);
ssize_t __pread64(int fd, void *to, size_t bytes, off64_t offset);
ssize_t __pread_chk(int fd, void *to, size_t bytes, off_t offset, size_t room);
ssize_t __pread64_chk(int fd, void *to, size_t bytes, off64_t offset, size_t room);

_Static_assert(sizeof(off_t) == sizeof(off64_t), "pread and pread64 are the same on this system");

#define READ(position, call)                                                                                           \
    if (__builtin_expect(!access_is_due(fd), 1)) {                                                                     \
        return call;                                                                                                   \
    }                                                                                                                  \
    struct access access;                                                                                              \
    access_begin(&access, fd, position);                                                                               \
    const ssize_t got = call;                                                                                          \
    access_end(&access, got);                                                                                          \
    return got

// A negative offset is an error of pread's, and is not to be taken for the position.
#define AT(offset) ((offset) < 0 ? 0 : (offset))

EXPORTED ssize_t read(int fd, void *to, size_t bytes)
{
    READ(OFFSET_CURRENT, NEXT(read)(fd, to, bytes));
}

EXPORTED ssize_t __read(int fd, void *to, size_t bytes)
{
    READ(OFFSET_CURRENT, NEXT(__read)(fd, to, bytes));
}

EXPORTED ssize_t __read_chk(int fd, void *to, size_t bytes, size_t room)
{
    READ(OFFSET_CURRENT, NEXT(__read_chk)(fd, to, bytes, room));
}

EXPORTED ssize_t readv(int fd, const struct iovec *to, int count)
{
    READ(OFFSET_CURRENT, NEXT(readv)(fd, to, count));
}

EXPORTED ssize_t pread(int fd, void *to, size_t bytes, off_t offset)
{
    READ(AT(offset), NEXT(pread)(fd, to, bytes, offset));
}

EXPORTED ssize_t pread64(int fd, void *to, size_t bytes, off64_t offset)
{
    READ(AT(offset), NEXT(pread64)(fd, to, bytes, offset));
}

EXPORTED ssize_t __pread64(int fd, void *to, size_t bytes, off64_t offset)
{
    READ(AT(offset), NEXT(__pread64)(fd, to, bytes, offset));
}

EXPORTED ssize_t __pread_chk(int fd, void *to, size_t bytes, off_t offset, size_t room)
{
    READ(AT(offset), NEXT(__pread_chk)(fd, to, bytes, offset, room));
}

EXPORTED ssize_t __pread64_chk(int fd, void *to, size_t bytes, off64_t offset, size_t room)
{
    READ(AT(offset), NEXT(__pread64_chk)(fd, to, bytes, offset, room));
}

EXPORTED ssize_t preadv(int fd, const struct iovec *to, int count, off_t offset)
{
    READ(AT(offset), NEXT(preadv)(fd, to, count, offset));
}

EXPORTED ssize_t preadv64(int fd, const struct iovec *to, int count, off64_t offset)
{
    READ(AT(offset), NEXT(preadv64)(fd, to, count, offset));
}

// Here -1 is the position.
EXPORTED ssize_t preadv2(int fd, const struct iovec *to, int count, off_t offset, int flags)
{
    READ(offset == -1 ? OFFSET_CURRENT : AT(offset), NEXT(preadv2)(fd, to, count, offset, flags));
}

EXPORTED ssize_t preadv64v2(int fd, const struct iovec *to, int count, off64_t offset, int flags)
{
    READ(offset == -1 ? OFFSET_CURRENT : AT(offset), NEXT(preadv64v2)(fd, to, count, offset, flags));
}
