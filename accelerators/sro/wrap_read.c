// SPDX-License-Identifier: Apache-2.0
// Wrappers of read(), pread(), readv() and their variants. Each wrapper calls the next function with the same
// arguments.
#define _GNU_SOURCE
#include <sys/uio.h>
#include <unistd.h>

#include "access.h"
#include "libc_names.h"
#include "next.h"

// A wrapper is split into two functions, so that a read that is not processed costs only a jump.
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

// A negative offset is an error in pread() and must not be mistaken for the current position.
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
// For preadv2 and preadv64v2, an offset of -1 means the current position.
READ(preadv2, (int fd, const struct iovec *to, int count, off_t offset, int flags), (fd, to, count, offset, flags),
     offset == -1 ? OFFSET_CURRENT : AT(offset))
READ(preadv64v2, (int fd, const struct iovec *to, int count, off64_t offset, int flags), (fd, to, count, offset, flags),
     offset == -1 ? OFFSET_CURRENT : AT(offset))
