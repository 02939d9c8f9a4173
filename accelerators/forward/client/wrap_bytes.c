// SPDX-License-Identifier: Apache-2.0
// Wrappers of read(), write() and their variants. A call of fewer bytes than state_least_bytes, which is never reached
// while the library is off, costs only a comparison.
#define _GNU_SOURCE
#include <sys/uio.h>
#include <unistd.h>

#include "burst.h"
#include "forward.h"
#include "libc_names.h"
#include "next.h"

// Return the bytes of buffers; 0, which is never forwarded, if the kernel refuses them.
static size_t sum(const struct iovec *vectors, int count)
{
    size_t bytes = 0;
    for (int i = 0; i < count; i++) {
        if (vectors[i].iov_len > CALL_BYTES || (bytes += vectors[i].iov_len) > CALL_BYTES) {
            return 0;
        }
    }
    return count > VECTORS_OF_CALL ? 0 : bytes;
}

static __attribute__((noinline)) ssize_t bulk(int fd, void *buffer, size_t bytes, int64_t offset, bool writing)
{
    const struct iovec vector = {buffer, bytes};
    const struct request request = {fd, &vector, 1, bytes, offset, writing};
    return forward_request(&request);
}

// Prepare a call that is done directly, whatever its size.
static ssize_t direct(int fd, bool writing)
{
    const struct request request = {.fd = fd, .writing = writing};
    if (burst_is_on()) {
        burst_before_direct(&request);
    }
    return FORWARD_NOT;
}

static ssize_t bulks(int fd, const struct iovec *vectors, int count, int64_t offset, bool writing)
{
    const size_t bytes = state_least_bytes == INT64_MAX || !vectors ? 0 : sum(vectors, count);
    const struct request request = {fd, vectors, count, bytes, offset, writing};
    return (int64_t)bytes >= state_least_bytes ? forward_request(&request) : direct(fd, writing);
}

static inline bool is_bulk(size_t bytes)
{
    return __builtin_expect(bytes >= (size_t)state_least_bytes, 0);
}

// A negative offset is an error and must not be mistaken for the current position.
#define AT(offset) ((offset) < 0 ? INT64_MIN : (offset))

#define CALL(name, parameters, arguments, attempt)                                                                     \
    EXPORTED ssize_t name parameters                                                                                   \
    {                                                                                                                  \
        const ssize_t moved = attempt;                                                                                 \
        return __builtin_expect(moved != FORWARD_NOT, 0) ? moved : NEXT(name) arguments;                               \
    }

#define BYTES(name, parameters, arguments, offset, writing)                                                            \
    CALL(name, parameters, arguments, is_bulk(bytes) ? bulk(fd, (void *)buffer, bytes, offset, writing) : FORWARD_NOT)

#define VECTORS(name, parameters, arguments, offset, writing)                                                          \
    CALL(name, parameters, arguments, bulks(fd, vectors, count, offset, writing))

BYTES(read, (int fd, void *buffer, size_t bytes), (fd, buffer, bytes), OFFSET_CURRENT, false)
BYTES(__read, (int fd, void *buffer, size_t bytes), (fd, buffer, bytes), OFFSET_CURRENT, false)
BYTES(pread, (int fd, void *buffer, size_t bytes, off_t at), (fd, buffer, bytes, at), AT(at), false)
BYTES(pread64, (int fd, void *buffer, size_t bytes, off64_t at), (fd, buffer, bytes, at), AT(at), false)
BYTES(__pread64, (int fd, void *buffer, size_t bytes, off64_t at), (fd, buffer, bytes, at), AT(at), false)

// The next function ends a program whose buffer is too small.
CALL(__read_chk, (int fd, void *buffer, size_t bytes, size_t room), (fd, buffer, bytes, room),
     is_bulk(bytes) && bytes <= room ? bulk(fd, (void *)buffer, bytes, OFFSET_CURRENT, false) : FORWARD_NOT)
CALL(__pread_chk, (int fd, void *buffer, size_t bytes, off_t at, size_t room), (fd, buffer, bytes, at, room),
     is_bulk(bytes) && bytes <= room ? bulk(fd, (void *)buffer, bytes, AT(at), false) : FORWARD_NOT)
CALL(__pread64_chk, (int fd, void *buffer, size_t bytes, off64_t at, size_t room), (fd, buffer, bytes, at, room),
     is_bulk(bytes) && bytes <= room ? bulk(fd, (void *)buffer, bytes, AT(at), false) : FORWARD_NOT)

BYTES(write, (int fd, const void *buffer, size_t bytes), (fd, buffer, bytes), OFFSET_CURRENT, true)
BYTES(__write, (int fd, const void *buffer, size_t bytes), (fd, buffer, bytes), OFFSET_CURRENT, true)
BYTES(pwrite, (int fd, const void *buffer, size_t bytes, off_t at), (fd, buffer, bytes, at), AT(at), true)
BYTES(pwrite64, (int fd, const void *buffer, size_t bytes, off64_t at), (fd, buffer, bytes, at), AT(at), true)
BYTES(__pwrite64, (int fd, const void *buffer, size_t bytes, off64_t at), (fd, buffer, bytes, at), AT(at), true)

VECTORS(readv, (int fd, const struct iovec *vectors, int count), (fd, vectors, count), OFFSET_CURRENT, false)
VECTORS(preadv, (int fd, const struct iovec *vectors, int count, off_t at), (fd, vectors, count, at), AT(at), false)
VECTORS(preadv64, (int fd, const struct iovec *vectors, int count, off64_t at), (fd, vectors, count, at), AT(at), false)
VECTORS(writev, (int fd, const struct iovec *vectors, int count), (fd, vectors, count), OFFSET_CURRENT, true)
VECTORS(pwritev, (int fd, const struct iovec *vectors, int count, off_t at), (fd, vectors, count, at), AT(at), true)
VECTORS(pwritev64, (int fd, const struct iovec *vectors, int count, off64_t at), (fd, vectors, count, at), AT(at), true)

// An offset of -1 means the current position. A call with flags is done directly.
#define AT_2(offset) ((offset) == -1 ? OFFSET_CURRENT : AT(offset))
#define VECTORS_2(name, type, writing)                                                                                 \
    CALL(name, (int fd, const struct iovec *vectors, int count, type at, int flags), (fd, vectors, count, at, flags),  \
         flags ? direct(fd, writing) : bulks(fd, vectors, count, AT_2(at), writing))

VECTORS_2(preadv2, off_t, false)
VECTORS_2(preadv64v2, off64_t, false)
VECTORS_2(pwritev2, off_t, true)
VECTORS_2(pwritev64v2, off64_t, true)
