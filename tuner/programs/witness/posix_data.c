// SPDX-License-Identifier: Apache-2.0
// Wrappers of functions that read and write files. Streams (FILE) call the kernel from inside libc, where their calls
// cannot be intercepted. Instead, a read from a stream is counted if the stream's buffer has too few bytes for the
// read, and a write to a stream is counted if the buffer has too little room for the data.
#define _GNU_SOURCE
#include <stddef.h>
#include <stdio.h>
#include <sys/uio.h>
#include <unistd.h>

#include "posix_access.h"
#include "posix_next.h"

#undef fread_unlocked // fread_unlocked and fwrite_unlocked may be macros
#undef fwrite_unlocked

enum { STREAM_BYTES = 4096 }; // buffer size assumed for a stream that has none yet

ssize_t __read(int fd, void *data, size_t bytes);
ssize_t __write(int fd, const void *data, size_t bytes);
ssize_t __pread64(int fd, void *data, size_t bytes, off64_t offset);
ssize_t __pwrite64(int fd, const void *data, size_t bytes, off64_t offset);
ssize_t __read_chk(int fd, void *data, size_t bytes, size_t room);
ssize_t __pread_chk(int fd, void *data, size_t bytes, off_t offset, size_t room);
ssize_t __pread64_chk(int fd, void *data, size_t bytes, off64_t offset, size_t room);
size_t __fread_chk(void *data, size_t room, size_t size, size_t count, FILE *stream);
size_t __fread_unlocked_chk(void *data, size_t room, size_t size, size_t count, FILE *stream);
off_t __lseek(int fd, off_t offset, int whence);

// A wrapper of a function that reads or writes at the descriptor's position.
#define MOVES(function, direction, parameters, arguments, bytes)                                                       \
    EXPORT ssize_t function parameters                                                                                 \
    {                                                                                                                  \
        struct io_cell *cell = access_cell(fd, direction, bytes, -1);                                                  \
        ssize_t done;                                                                                                  \
                                                                                                                       \
        if (!cell || cell_skips(cell))                                                                                 \
            return REAL(function) arguments;                                                                           \
        TIMED(done, cell, 1, REAL(function) arguments);                                                                \
        return done;                                                                                                   \
    }

// A wrapper of a function that reads or writes at a given offset.
#define PLACED(function, direction, parameters, arguments, bytes)                                                      \
    EXPORT ssize_t function parameters                                                                                 \
    {                                                                                                                  \
        struct io_cell *cell = access_cell(fd, direction, bytes, offset);                                              \
        ssize_t done;                                                                                                  \
                                                                                                                       \
        if (!cell || cell_skips(cell))                                                                                 \
            return REAL(function) arguments;                                                                           \
        TIMED(done, cell, 1, REAL(function) arguments);                                                                \
        return done;                                                                                                   \
    }

// A wrapper of a function with a list of buffers. The access is counted after the call, because the list's address may
// be invalid, and only the kernel can check that.
#define VECTORED(function, direction, parameters, arguments, place)                                                    \
    EXPORT ssize_t function parameters                                                                                 \
    {                                                                                                                  \
        if (!access_file(fd))                                                                                          \
            return REAL(function) arguments;                                                                           \
        const uint64_t before = clock_ticks();                                                                         \
        const ssize_t done = REAL(function) arguments;                                                                 \
        const uint64_t ticks = clock_ticks() - before;                                                                 \
        struct io_cell *cell = access_cell(fd, direction, done > 0 ? (uint64_t)done : 0, place);                       \
        if (cell)                                                                                                      \
            cell_timed(cell, done, ticks);                                                                             \
        return done;                                                                                                   \
    }

MOVES(read, READING, (int fd, void *data, size_t bytes), (fd, data, bytes), bytes)
MOVES(__read, READING, (int fd, void *data, size_t bytes), (fd, data, bytes), bytes)
MOVES(__read_chk, READING, (int fd, void *data, size_t bytes, size_t room), (fd, data, bytes, room), bytes)
VECTORED(readv, READING, (int fd, const struct iovec *parts, int count), (fd, parts, count), -1)
MOVES(write, WRITING, (int fd, const void *data, size_t bytes), (fd, data, bytes), bytes)
MOVES(__write, WRITING, (int fd, const void *data, size_t bytes), (fd, data, bytes), bytes)
VECTORED(writev, WRITING, (int fd, const struct iovec *parts, int count), (fd, parts, count), -1)

PLACED(pread, READING, (int fd, void *data, size_t bytes, off_t offset), (fd, data, bytes, offset), bytes)
PLACED(pread64, READING, (int fd, void *data, size_t bytes, off64_t offset), (fd, data, bytes, offset), bytes)
PLACED(__pread64, READING, (int fd, void *data, size_t bytes, off64_t offset), (fd, data, bytes, offset), bytes)
PLACED(__pread_chk, READING, (int fd, void *data, size_t bytes, off_t offset, size_t room),
       (fd, data, bytes, offset, room), bytes)
PLACED(__pread64_chk, READING, (int fd, void *data, size_t bytes, off64_t offset, size_t room),
       (fd, data, bytes, offset, room), bytes)
VECTORED(preadv, READING, (int fd, const struct iovec *parts, int count, off_t offset), (fd, parts, count, offset),
         offset)
VECTORED(preadv64, READING, (int fd, const struct iovec *parts, int count, off64_t offset), (fd, parts, count, offset),
         offset)
PLACED(pwrite, WRITING, (int fd, const void *data, size_t bytes, off_t offset), (fd, data, bytes, offset), bytes)
PLACED(pwrite64, WRITING, (int fd, const void *data, size_t bytes, off64_t offset), (fd, data, bytes, offset), bytes)
PLACED(__pwrite64, WRITING, (int fd, const void *data, size_t bytes, off64_t offset), (fd, data, bytes, offset), bytes)
VECTORED(pwritev, WRITING, (int fd, const struct iovec *parts, int count, off_t offset), (fd, parts, count, offset),
         offset)
VECTORED(pwritev64, WRITING, (int fd, const struct iovec *parts, int count, off64_t offset), (fd, parts, count, offset),
         offset)

// Return the cell that counts a read from or a write to a stream, and set `*moved` to the estimated number of bytes
// that libc moves in a kernel call. Returns NULL if the stream's buffer suffices and libc does not call the kernel.
static struct io_cell *stream_cell(FILE *stream, enum direction direction, size_t bytes, size_t *moved)
{
    if (!witness || !bytes)
        return NULL;
    const ptrdiff_t ready = direction == READING ? stream->_IO_read_end - stream->_IO_read_ptr
                                                 : stream->_IO_write_end - stream->_IO_write_ptr;
    if (ready > 0 && (size_t)ready >= bytes)
        return NULL;
    const ptrdiff_t room = stream->_IO_buf_end - stream->_IO_buf_base;
    const size_t buffer = room > 0 ? (size_t)room : STREAM_BYTES;
    *moved = bytes > buffer ? bytes : buffer;
    return access_cell(stream->_fileno, direction, *moved, -1);
}

#define STREAMS(function, direction, parameters, arguments)                                                            \
    EXPORT size_t function parameters                                                                                  \
    {                                                                                                                  \
        size_t moved;                                                                                                  \
        struct io_cell *cell = stream_cell(stream, direction, size * count, &moved);                                   \
        size_t done;                                                                                                   \
                                                                                                                       \
        if (!cell || cell_skips(cell))                                                                                 \
            return REAL(function) arguments;                                                                           \
        const uint64_t before = clock_ticks();                                                                         \
        done = REAL(function) arguments;                                                                               \
        cell_timed(cell, done ? (int64_t)moved : 0, clock_ticks() - before);                                           \
        return done;                                                                                                   \
    }
STREAMS(fread, READING, (void *data, size_t size, size_t count, FILE *stream), (data, size, count, stream))
STREAMS(fread_unlocked, READING, (void *data, size_t size, size_t count, FILE *stream), (data, size, count, stream))
STREAMS(__fread_chk, READING, (void *data, size_t room, size_t size, size_t count, FILE *stream),
        (data, room, size, count, stream))
STREAMS(__fread_unlocked_chk, READING, (void *data, size_t room, size_t size, size_t count, FILE *stream),
        (data, room, size, count, stream))
STREAMS(fwrite, WRITING, (const void *data, size_t size, size_t count, FILE *stream), (data, size, count, stream))
STREAMS(fwrite_unlocked, WRITING, (const void *data, size_t size, size_t count, FILE *stream),
        (data, size, count, stream))

#define SEEKS(function, type)                                                                                          \
    EXPORT type function(int fd, type offset, int whence)                                                              \
    {                                                                                                                  \
        const type position = REAL(function)(fd, offset, whence);                                                      \
        access_placed(fd, position);                                                                                   \
        return position;                                                                                               \
    }
SEEKS(lseek, off_t)
SEEKS(lseek64, off64_t)
SEEKS(__lseek, off_t)

#define STREAM_SEEKS(function, type)                                                                                   \
    EXPORT int function(FILE *stream, type offset, int whence)                                                         \
    {                                                                                                                  \
        const int done = REAL(function)(stream, offset, whence);                                                       \
        if (witness && done == 0 && stream->_IO_read_end == stream->_IO_read_base)                                     \
            access_placed(stream->_fileno, whence == SEEK_SET ? (int64_t)offset : INT64_MAX / 2);                      \
        return done;                                                                                                   \
    }
STREAM_SEEKS(fseek, long)
STREAM_SEEKS(fseeko, off_t)
STREAM_SEEKS(fseeko64, off64_t)
