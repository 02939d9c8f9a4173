// SPDX-License-Identifier: Apache-2.0
// Wrappers of functions that let the kernel read or change a file's bytes without read() or write(), for jobs with a
// burst buffer. They wait until the file's data are in the file system.
#ifdef FORWARD_BURST
#define _GNU_SOURCE
#include <fcntl.h>
#include <spawn.h>
#include <stdarg.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/sendfile.h>
#include <sys/stat.h>
#include <unistd.h>

#include "burst.h"
#include "descriptors.h"
#include "drain.h"
#include "libc_names.h"
#include "next.h"
#include "sync.h"

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

// Data that others have written and closed are visible from the opening on, also for mmap and streams. A program that
// opens the file only to write may do so by system calls that the library does not see, which delayed data must not
// come after.
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

EXPORTED int close(int fd)
{
    const int error = sync_forget(fd);
    return sync_result(NEXT(close)(fd), error);
}

EXPORTED int __close(int fd)
{
    const int error = sync_forget(fd);
    return sync_result(NEXT(__close)(fd), error);
}

EXPORTED int fclose(FILE *stream)
{
    const int error = sync_forget(stream->_fileno);
    return sync_result(NEXT(fclose)(stream), error);
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

// libc itself writes what these print.
EXPORTED int vdprintf(int fd, const char *format, va_list list)
{
    burst_settle(fd);
    return NEXT(vdprintf)(fd, format, list);
}

EXPORTED int __vdprintf_chk(int fd, int flag, const char *format, va_list list)
{
    burst_settle(fd);
    return NEXT(__vdprintf_chk)(fd, flag, format, list);
}

EXPORTED int dprintf(int fd, const char *format, ...)
{
    va_list list;
    va_start(list, format);
    const int result = vdprintf(fd, format, list);
    va_end(list);
    return result;
}

EXPORTED int __dprintf_chk(int fd, int flag, const char *format, ...)
{
    va_list list;
    va_start(list, format);
    const int result = __vdprintf_chk(fd, flag, format, list);
    va_end(list);
    return result;
}

EXPORTED FILE *fdopen(int fd, const char *mode)
{
    burst_settle(fd);
    return NEXT(fdopen)(fd, mode);
}

// Without a path, the stream's file is opened again.
static FILE *reopen(const char *path, const char *mode, FILE *stream, FILE *(*next)(const char *, const char *, FILE *))
{
    if (path) {
        before_open(AT_FDCWD, path, mode[0] == 'w' ? O_TRUNC : 0);
    } else {
        burst_settle(stream->_fileno);
    }
    descriptors_forget(stream->_fileno, stream->_fileno);
    return after_fopen(next(path, mode, stream));
}

EXPORTED FILE *freopen(const char *path, const char *mode, FILE *stream)
{
    return reopen(path, mode, stream, NEXT(freopen));
}

EXPORTED FILE *freopen64(const char *path, const char *mode, FILE *stream)
{
    return reopen(path, mode, stream, NEXT(freopen64));
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

// A file that becomes executable is read by the kernel itself.
AFTER(int, chmod, (const char *path, mode_t mode), (path, mode), burst_settle_path(AT_FDCWD, path))
AFTER(int, fchmod, (int fd, mode_t mode), (fd, mode), burst_settle(fd))
AFTER(int, fchmodat, (int directory, const char *path, mode_t mode, int flags), (directory, path, mode, flags),
      burst_settle_path(directory, path))

// libc itself opens these files in the child.
AFTER(int, posix_spawn_file_actions_addopen,
      (posix_spawn_file_actions_t * actions, int fd, const char *path, int flags, mode_t mode),
      (actions, fd, path, flags, mode), burst_settle_path(AT_FDCWD, path))

EXPORTED int rename(const char *from, const char *to)
{
    burst_before_rename(AT_FDCWD, from);
    const int result = NEXT(rename)(from, to);
    burst_after_rename(AT_FDCWD, to);
    return result;
}

EXPORTED int renameat(int directory, const char *from, int other, const char *to)
{
    burst_before_rename(directory, from);
    const int result = NEXT(renameat)(directory, from, other, to);
    burst_after_rename(other, to);
    return result;
}

EXPORTED int renameat2(int directory, const char *from, int other, const char *to, unsigned flags)
{
    burst_before_rename(directory, from);
    burst_before_rename(other, to);
    const int result = NEXT(renameat2)(directory, from, other, to, flags);
    burst_after_rename(directory, from); // both may be there if they were exchanged
    burst_after_rename(other, to);
    return result;
}

// The arguments of other functions of exec are lists, which a wrapper cannot pass on.
AFTER(int, execve, (const char *path, char *const words[], char *const environment[]), (path, words, environment),
      drain_before_exec())
AFTER(int, execv, (const char *path, char *const words[]), (path, words), drain_before_exec())
AFTER(int, execvp, (const char *name, char *const words[]), (name, words), drain_before_exec())
AFTER(int, execvpe, (const char *name, char *const words[], char *const environment[]), (name, words, environment),
      drain_before_exec())
AFTER(int, fexecve, (int fd, char *const words[], char *const environment[]), (fd, words, environment),
      drain_before_exec())

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
