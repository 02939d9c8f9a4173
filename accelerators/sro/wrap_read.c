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

// In two functions, so that a read that is not looked at costs a jump.
#define READ(name, parameters, arguments, position)                                                                    \
    static __attribute__((noinline)) ssize_t name##_looked_at parameters                                               \
    {                                                                                                                  \
        struct access access;                                                                                          \
        access_begin(&access, fd, position);                                                                           \
        const ssize_t got = NEXT(name) arguments;                                                                      \
        access_end(&access, got);                                                                                      \
        return got;                                                                                                    \
    }                                                                                                                  \
    EXPORTED ssize_t name parameters                                                                                   \
    {                                                                                                                  \
        return __builtin_expect(access_is_due(fd), 0) ? name##_looked_at arguments : NEXT(name) arguments;             \
    }

// A negative offset is an error of pread's, and is not to be taken for the position.
#define AT(offset) ((offset) < 0 ? 0 : (offset))

READ(read, (int fd, void *to, size_t bytes), (fd, to, bytes), OFFSET_CURRENT)
READ(__read, (int fd, void *to, size_t bytes), (fd, to, bytes), OFFSET_CURRENT)
READ(__read_chk, (int fd, void *to, size_t bytes, size_t room), (fd, to, bytes, room), OFFSET_CURRENT)
READ(readv, (int fd, const struct iovec *to, int count), (fd, to, count), OFFSET_CURRENT)
READ(pread, (int fd, void *to, size_t bytes, off_t offset), (fd, to, bytes, offset), AT(offset))
READ(pread64, (int fd, void *to, size_t bytes, off64_t offset), (fd, to, bytes, offset), AT(offset))
READ(__pread64, (int fd, void *to, size_t bytes, off64_t offset), (fd, to, bytes, offset), AT(offset))
READ(__pread_chk, (int fd, void *to, size_t bytes, off_t offset, size_t room), (fd, to, bytes, offset, room),
     AT(offset))
READ(__pread64_chk, (int fd, void *to, size_t bytes, off64_t offset, size_t room), (fd, to, bytes, offset, room),
     AT(offset))
READ(preadv, (int fd, const struct iovec *to, int count, off_t offset), (fd, to, count, offset), AT(offset))
READ(preadv64, (int fd, const struct iovec *to, int count, off64_t offset), (fd, to, count, offset), AT(offset))
// Here -1 is the position.
READ(preadv2, (int fd, const struct iovec *to, int count, off_t offset, int flags), (fd, to, count, offset, flags),
     offset == -1 ? OFFSET_CURRENT : AT(offset))
READ(preadv64v2, (int fd, const struct iovec *to, int count, off64_t offset, int flags), (fd, to, count, offset, flags),
     offset == -1 ? OFFSET_CURRENT : AT(offset))
