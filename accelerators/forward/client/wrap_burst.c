// SPDX-License-Identifier: Apache-2.0
// Wrappers of functions that let the kernel read or change a file's bytes without read() or write(), for jobs with a
// burst buffer. They wait until the file's data are in the file system.
#ifdef FORWARD_BURST
#define _GNU_SOURCE
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/sendfile.h>
#include <unistd.h>

#include "burst.h"
#include "libc_names.h"
#include "next.h"

static bool needs_mode(int flags)
{
    return (flags & O_CREAT) || (flags & O_TMPFILE) == O_TMPFILE;
}

// Delayed writes must not come after the truncation.
static void before_open(int directory, const char *path, int flags)
{
    if (flags & O_TRUNC) {
        burst_settle_path(directory, path);
    }
}

// Data that others have written and closed are visible from the opening on, also for mmap and streams.
static int after_open(int fd, int flags)
{
    if (fd >= 0 && !(flags & (O_PATH | O_TRUNC | O_DIRECTORY))) {
        burst_settle(fd);
    }
    return fd;
}

#define OPEN(name)                                                                                                     \
    EXPORTED int name(const char *path, int flags, ...)                                                                \
    {                                                                                                                  \
        va_list list;                                                                                                  \
        va_start(list, flags);                                                                                         \
        const mode_t mode = needs_mode(flags) ? va_arg(list, mode_t) : 0;                                              \
        va_end(list);                                                                                                  \
        before_open(AT_FDCWD, path, flags);                                                                            \
        return after_open(NEXT(name)(path, flags, mode), flags);                                                       \
    }

#define OPENAT(name)                                                                                                   \
    EXPORTED int name(int directory, const char *path, int flags, ...)                                                 \
    {                                                                                                                  \
        va_list list;                                                                                                  \
        va_start(list, flags);                                                                                         \
        const mode_t mode = needs_mode(flags) ? va_arg(list, mode_t) : 0;                                              \
        va_end(list);                                                                                                  \
        before_open(directory, path, flags);                                                                           \
        return after_open(NEXT(name)(directory, path, flags, mode), flags);                                            \
    }

#define OPEN_2(name)                                                                                                   \
    EXPORTED int name(const char *path, int flags)                                                                     \
    {                                                                                                                  \
        before_open(AT_FDCWD, path, flags);                                                                            \
        return after_open(NEXT(name)(path, flags), flags);                                                             \
    }

#define OPENAT_2(name)                                                                                                 \
    EXPORTED int name(int directory, const char *path, int flags)                                                      \
    {                                                                                                                  \
        before_open(directory, path, flags);                                                                           \
        return after_open(NEXT(name)(directory, path, flags), flags);                                                  \
    }

OPEN(open)
OPEN(open64)
OPENAT(openat)
OPENAT(openat64)
OPEN_2(__open_2)
OPEN_2(__open64_2)
OPENAT_2(__openat_2)
OPENAT_2(__openat64_2)

EXPORTED int creat(const char *path, mode_t mode)
{
    burst_settle_path(AT_FDCWD, path);
    return NEXT(creat)(path, mode);
}

EXPORTED int creat64(const char *path, mode_t mode)
{
    burst_settle_path(AT_FDCWD, path);
    return NEXT(creat64)(path, mode);
}

static FILE *after_fopen(FILE *stream)
{
    if (stream) {
        burst_settle(stream->_fileno);
    }
    return stream;
}

EXPORTED FILE *fopen(const char *path, const char *mode)
{
    before_open(AT_FDCWD, path, mode[0] == 'w' ? O_TRUNC : 0);
    return after_fopen(NEXT(fopen)(path, mode));
}

EXPORTED FILE *fopen64(const char *path, const char *mode)
{
    before_open(AT_FDCWD, path, mode[0] == 'w' ? O_TRUNC : 0);
    return after_fopen(NEXT(fopen64)(path, mode));
}

// A function that does something with files, after they have settled.
#define AFTER(type, name, parameters, arguments, ...)                                                                  \
    EXPORTED type name parameters                                                                                      \
    {                                                                                                                  \
        __VA_ARGS__;                                                                                                   \
        return NEXT(name) arguments;                                                                                   \
    }

AFTER(int, ftruncate, (int fd, off_t size), (fd, size), burst_settle(fd))
AFTER(int, ftruncate64, (int fd, off64_t size), (fd, size), burst_settle(fd))
AFTER(int, truncate, (const char *path, off_t size), (path, size), burst_settle_path(AT_FDCWD, path))
AFTER(int, truncate64, (const char *path, off64_t size), (path, size), burst_settle_path(AT_FDCWD, path))
AFTER(int, fallocate, (int fd, int mode, off_t at, off_t bytes), (fd, mode, at, bytes), burst_settle(fd))
AFTER(int, fallocate64, (int fd, int mode, off64_t at, off64_t bytes), (fd, mode, at, bytes), burst_settle(fd))

// A burst buffer that is started again finds its data's files by their paths.
AFTER(int, rename, (const char *from, const char *to), (from, to), burst_settle_path(AT_FDCWD, from))
AFTER(int, renameat, (int directory, const char *from, int other, const char *to), (directory, from, other, to),
      burst_settle_path(directory, from))
AFTER(int, renameat2, (int directory, const char *from, int other, const char *to, unsigned flags),
      (directory, from, other, to, flags), burst_settle_path(directory, from), burst_settle_path(other, to))

// Data of a file without a name can still be read through its descriptors, but not through the burst buffer.
AFTER(int, unlink, (const char *path), (path), burst_settle_path(AT_FDCWD, path))
AFTER(int, unlinkat, (int directory, const char *path, int flags), (directory, path, flags),
      burst_settle_path(directory, path))
AFTER(int, remove, (const char *path), (path), burst_settle_path(AT_FDCWD, path))

AFTER(ssize_t, sendfile, (int to, int from, off_t *at, size_t bytes), (to, from, at, bytes), burst_settle(from),
      burst_settle(to))
AFTER(ssize_t, sendfile64, (int to, int from, off64_t *at, size_t bytes), (to, from, at, bytes), burst_settle(from),
      burst_settle(to))
AFTER(ssize_t, copy_file_range, (int from, off64_t *at, int to, off64_t *there, size_t bytes, unsigned flags),
      (from, at, to, there, bytes, flags), burst_settle(from), burst_settle(to))
AFTER(ssize_t, splice, (int from, off64_t *at, int to, off64_t *there, size_t bytes, unsigned flags),
      (from, at, to, there, bytes, flags), burst_settle(from), burst_settle(to))

AFTER(void *, mmap, (void *place, size_t bytes, int allowed, int flags, int fd, off_t at),
      (place, bytes, allowed, flags, fd, at), burst_settle_and_leave((flags & MAP_ANONYMOUS) ? -1 : fd))
AFTER(void *, mmap64, (void *place, size_t bytes, int allowed, int flags, int fd, off64_t at),
      (place, bytes, allowed, flags, fd, at), burst_settle_and_leave((flags & MAP_ANONYMOUS) ? -1 : fd))

// libc writes small pieces of streams itself. They follow one another, so only after a jump can they meet delayed data.
AFTER(int, fseek, (FILE * stream, long at, int whence), (stream, at, whence), burst_settle_own(stream->_fileno))
AFTER(int, fseeko, (FILE * stream, off_t at, int whence), (stream, at, whence), burst_settle_own(stream->_fileno))
AFTER(int, fseeko64, (FILE * stream, off64_t at, int whence), (stream, at, whence), burst_settle_own(stream->_fileno))
AFTER(int, fsetpos, (FILE * stream, const fpos_t *at), (stream, at), burst_settle_own(stream->_fileno))
AFTER(int, fsetpos64, (FILE * stream, const fpos64_t *at), (stream, at), burst_settle_own(stream->_fileno))

EXPORTED void rewind(FILE *stream)
{
    burst_settle_own(stream->_fileno);
    NEXT(rewind)(stream);
}
#endif
