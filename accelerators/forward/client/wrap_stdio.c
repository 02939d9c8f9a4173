// SPDX-License-Identifier: Apache-2.0
// Wrappers of fread() and fwrite(). libc makes the system calls of these functions internally, where wrappers of read()
// and write() do not see them. A large call is done here in three parts: what is in the stream's buffer is read from it
// or written to the file by libc, then the large part is forwarded at the descriptor's position, then libc does the
// rest. In between the stream is as if it had been read to the end of its buffer, or flushed.
#define _GNU_SOURCE
#include <errno.h>
#include <stdio.h>

#include "forward.h"
#include "libc_names.h"
#include "next.h"

#undef fread_unlocked // libc's header also defines macros when the compiler optimizes
#undef fwrite_unlocked

// Flags of a stream in every glibc (libio.h), which its public headers do not define.
#define STREAM_END_SEEN 0x10
#define STREAM_ERROR_SEEN 0x20
#define STREAM_IN_BACKUP 0x100
#define STREAM_PUTTING 0x800
#define UNKNOWN_OFFSET (-1) // makes libc ask the kernel for the position

// Return whether a stream's bytes are those of its descriptor, in order, and may be forwarded. Other streams are not
// even flushed, because that would change the sizes of a program's writes to, for example, a pipe.
static bool is_forwardable(const FILE *stream, bool writing)
{
    const struct request request = {.fd = stream->_fileno, .writing = writing};
    return stream->_fileno >= 0 && stream->_mode <= 0 && !(stream->_flags & (STREAM_IN_BACKUP | STREAM_ERROR_SEEN)) &&
           forward_may(&request);
}

static size_t buffered(const FILE *stream)
{
    return stream->_IO_read_end > stream->_IO_read_ptr ? (size_t)(stream->_IO_read_end - stream->_IO_read_ptr) : 0;
}

static size_t forward(FILE *stream, char *bytes, size_t count, bool writing)
{
    const struct iovec vector = {bytes, count};
    const struct request request = {stream->_fileno, &vector, 1, count, OFFSET_CURRENT, writing};
    const int kept = errno;
    const ssize_t moved = forward_request(&request);
    if (moved > 0) {
        stream->_offset = UNKNOWN_OFFSET;
    }
    errno = kept; // libc tries the rest, and reports its error
    return moved > 0 ? (size_t)moved : 0;
}

typedef size_t reader(void *to, size_t size, size_t count, FILE *stream);
typedef size_t writer(const void *from, size_t size, size_t count, FILE *stream);

static size_t read_in_parts(char *to, size_t size, size_t count, FILE *stream, reader *next)
{
    const size_t bytes = size * count;
    size_t done = 0;
    flockfile(stream);
    const size_t first = buffered(stream);
    if (!(stream->_flags & (STREAM_PUTTING | STREAM_END_SEEN)) && first < bytes &&
        bytes - first >= (size_t)state_stream_bytes && is_forwardable(stream, false)) {
        done = first ? next(to, 1, first, stream) : 0;
        done += done == first ? forward(stream, to + done, bytes - done, false) : 0;
    }
    done += done < bytes ? next(to + done, 1, bytes - done, stream) : 0;
    funlockfile(stream);
    return done == bytes ? count : done / size;
}

static size_t write_in_parts(const char *from, size_t size, size_t count, FILE *stream, writer *next)
{
    const size_t bytes = size * count;
    size_t done = 0;
    flockfile(stream);
    if (!buffered(stream) && is_forwardable(stream, true) && fflush_unlocked(stream) == 0) {
        done = forward(stream, (char *)from, bytes, true);
    }
    done += done < bytes ? next(from + done, 1, bytes - done, stream) : 0;
    funlockfile(stream);
    return done == bytes ? count : done / size;
}

static inline bool is_bulk(size_t size, size_t count)
{
    size_t bytes = 0;
    return !__builtin_mul_overflow(size, count, &bytes) && __builtin_expect(bytes >= (size_t)state_stream_bytes, 0);
}

EXPORTED size_t fread(void *to, size_t size, size_t count, FILE *stream)
{
    return is_bulk(size, count) ? read_in_parts(to, size, count, stream, NEXT(fread))
                                : NEXT(fread)(to, size, count, stream);
}

EXPORTED size_t fread_unlocked(void *to, size_t size, size_t count, FILE *stream)
{
    return is_bulk(size, count) ? read_in_parts(to, size, count, stream, NEXT(fread_unlocked))
                                : NEXT(fread_unlocked)(to, size, count, stream);
}

// The next functions end a program whose buffer is too small.
EXPORTED size_t __fread_chk(void *to, size_t room, size_t size, size_t count, FILE *stream)
{
    return is_bulk(size, count) && size * count <= room ? read_in_parts(to, size, count, stream, NEXT(fread))
                                                        : NEXT(__fread_chk)(to, room, size, count, stream);
}

EXPORTED size_t __fread_unlocked_chk(void *to, size_t room, size_t size, size_t count, FILE *stream)
{
    return is_bulk(size, count) && size * count <= room ? read_in_parts(to, size, count, stream, NEXT(fread_unlocked))
                                                        : NEXT(__fread_unlocked_chk)(to, room, size, count, stream);
}

EXPORTED size_t fwrite(const void *from, size_t size, size_t count, FILE *stream)
{
    return is_bulk(size, count) ? write_in_parts(from, size, count, stream, NEXT(fwrite))
                                : NEXT(fwrite)(from, size, count, stream);
}

EXPORTED size_t fwrite_unlocked(const void *from, size_t size, size_t count, FILE *stream)
{
    return is_bulk(size, count) ? write_in_parts(from, size, count, stream, NEXT(fwrite_unlocked))
                                : NEXT(fwrite_unlocked)(from, size, count, stream);
}
