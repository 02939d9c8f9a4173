// SPDX-License-Identifier: Apache-2.0
// Wrappers of functions that open, close, examine or change files, that reassign a descriptor's number, or that end a
// process without calling destructors.
#define _GNU_SOURCE
#include <dirent.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "posix_access.h"
#include "posix_next.h"
#include "report.h"
#include "trace.h"

struct statx;
int __close(int fd);
int __dup2(int from, int to);
int close_range(unsigned first, unsigned last, int flags);
void closefrom(int first);
int __xstat(int version, const char *path, struct stat *found);
int __lxstat(int version, const char *path, struct stat *found);
int __fxstat(int version, int fd, struct stat *found);
int __fxstatat(int version, int directory, const char *path, struct stat *found, int flags);
int __xstat64(int version, const char *path, struct stat64 *found);
int __lxstat64(int version, const char *path, struct stat64 *found);
int __fxstat64(int version, int fd, struct stat64 *found);
int __fxstatat64(int version, int directory, const char *path, struct stat64 *found, int flags);

// Return the cell that counts a call. Returns NULL if nothing is recorded, or if the call is made inside an MPI call
// and is therefore counted as part of the MPI call.
static inline struct io_cell *meta_cell(enum meta sort)
{
    return witness && !witness_inside ? &state_block()->meta[sort] : NULL;
}

#define COUNTED(result, sort, expression)                                                                              \
    do {                                                                                                               \
        struct io_cell *cell_ = meta_cell(sort);                                                                       \
        if (!cell_ || cell_skips(cell_))                                                                               \
            result = expression;                                                                                       \
        else                                                                                                           \
            TIMED(result, cell_, 0, expression);                                                                       \
    } while (0)

// -- opening and closing

// The mode argument only exists if a file may be created.
#define TAKE_MODE(flags)                                                                                               \
    mode_t mode = 0;                                                                                                   \
    if ((flags) & (O_CREAT | __O_TMPFILE)) {                                                                           \
        va_list more;                                                                                                  \
        va_start(more, flags);                                                                                         \
        mode = va_arg(more, mode_t);                                                                                   \
        va_end(more);                                                                                                  \
    }

#define OPENS(function)                                                                                                \
    EXPORT int function(const char *path, int flags, ...)                                                              \
    {                                                                                                                  \
        int fd;                                                                                                        \
        TAKE_MODE(flags)                                                                                               \
        COUNTED(fd, META_OPEN, REAL(function)(path, flags, mode));                                                     \
        access_forget(fd);                                                                                             \
        return fd;                                                                                                     \
    }
OPENS(open)
OPENS(open64)

#define OPENS_AT(function)                                                                                             \
    EXPORT int function(int directory, const char *path, int flags, ...)                                               \
    {                                                                                                                  \
        int fd;                                                                                                        \
        TAKE_MODE(flags)                                                                                               \
        COUNTED(fd, META_OPEN, REAL(function)(directory, path, flags, mode));                                          \
        access_forget(fd);                                                                                             \
        return fd;                                                                                                     \
    }
OPENS_AT(openat)
OPENS_AT(openat64)

#define CREATES(function)                                                                                              \
    EXPORT int function(const char *path, mode_t mode)                                                                 \
    {                                                                                                                  \
        int fd;                                                                                                        \
        COUNTED(fd, META_OPEN, REAL(function)(path, mode));                                                            \
        access_forget(fd);                                                                                             \
        return fd;                                                                                                     \
    }
CREATES(creat)
CREATES(creat64)

#define OPENS_STREAM(function)                                                                                         \
    EXPORT FILE *function(const char *path, const char *mode)                                                          \
    {                                                                                                                  \
        FILE *stream;                                                                                                  \
        struct io_cell *cell = meta_cell(META_OPEN);                                                                   \
        if (cell) {                                                                                                    \
            const uint64_t before = clock_ticks();                                                                     \
            stream = REAL(function)(path, mode);                                                                       \
            cell_timed(cell, 0, clock_ticks() - before);                                                               \
        } else {                                                                                                       \
            stream = REAL(function)(path, mode);                                                                       \
        }                                                                                                              \
        access_forget(stream ? stream->_fileno : -1);                                                                  \
        return stream;                                                                                                 \
    }
OPENS_STREAM(fopen)
OPENS_STREAM(fopen64)

#define CLOSES(function)                                                                                               \
    EXPORT int function(int fd)                                                                                        \
    {                                                                                                                  \
        int done;                                                                                                      \
        access_forget(fd);                                                                                             \
        COUNTED(done, META_CLOSE, REAL(function)(fd));                                                                 \
        return done;                                                                                                   \
    }
CLOSES(close)
CLOSES(__close)

EXPORT int fclose(FILE *stream)
{
    int done;

    access_forget(stream->_fileno);
    COUNTED(done, META_CLOSE, REAL(fclose)(stream));
    return done;
}

#define DUPLICATES(function, parameters, arguments)                                                                    \
    EXPORT int function parameters                                                                                     \
    {                                                                                                                  \
        if (from != to)                                                                                                \
            access_forget(to);                                                                                         \
        return REAL(function) arguments;                                                                               \
    }
DUPLICATES(dup2, (int from, int to), (from, to))
DUPLICATES(__dup2, (int from, int to), (from, to))
DUPLICATES(dup3, (int from, int to, int flags), (from, to, flags))

EXPORT int close_range(unsigned first, unsigned last, int flags)
{
    for (unsigned fd = first; witness && fd <= last && fd < DESCRIPTORS_MAX; fd++)
        access_forget((int)fd);
    __typeof__(&close_range) real = REAL(close_range);
    // 436 is the number of close_range on all architectures.
    return real ? real(first, last, flags) : (int)syscall(436, first, last, flags);
}

EXPORT void closefrom(int first)
{
    if (witness)
        access_forget_from(first);
    __typeof__(&closefrom) real = REAL(closefrom);
    if (real)
        real(first);
    else
        close_range(first < 0 ? 0 : (unsigned)first, ~0U, 0);
}

// -- other calls

#define META(sort, function, parameters, arguments)                                                                    \
    EXPORT int function parameters                                                                                     \
    {                                                                                                                  \
        struct io_cell *cell = meta_cell(sort);                                                                        \
        int done;                                                                                                      \
                                                                                                                       \
        if (!cell || cell_skips(cell))                                                                                 \
            return REAL(function) arguments;                                                                           \
        TIMED(done, cell, 0, REAL(function) arguments);                                                                \
        return done;                                                                                                   \
    }
META(META_STAT, stat, (const char *path, struct stat *found), (path, found))
META(META_STAT, lstat, (const char *path, struct stat *found), (path, found))
META(META_STAT, fstat, (int fd, struct stat *found), (fd, found))
META(META_STAT, fstatat, (int at, const char *path, struct stat *found, int flags), (at, path, found, flags))
META(META_STAT, stat64, (const char *path, struct stat64 *found), (path, found))
META(META_STAT, lstat64, (const char *path, struct stat64 *found), (path, found))
META(META_STAT, fstat64, (int fd, struct stat64 *found), (fd, found))
META(META_STAT, fstatat64, (int at, const char *path, struct stat64 *found, int flags), (at, path, found, flags))
META(META_STAT, statx, (int at, const char *path, int flags, unsigned mask, struct statx *found),
     (at, path, flags, mask, found))
META(META_STAT, __xstat, (int version, const char *path, struct stat *found), (version, path, found))
META(META_STAT, __lxstat, (int version, const char *path, struct stat *found), (version, path, found))
META(META_STAT, __fxstat, (int version, int fd, struct stat *found), (version, fd, found))
META(META_STAT, __fxstatat, (int version, int at, const char *path, struct stat *found, int flags),
     (version, at, path, found, flags))
META(META_STAT, __xstat64, (int version, const char *path, struct stat64 *found), (version, path, found))
META(META_STAT, __lxstat64, (int version, const char *path, struct stat64 *found), (version, path, found))
META(META_STAT, __fxstat64, (int version, int fd, struct stat64 *found), (version, fd, found))
META(META_STAT, __fxstatat64, (int version, int at, const char *path, struct stat64 *found, int flags),
     (version, at, path, found, flags))
META(META_STAT, access, (const char *path, int mode), (path, mode))
META(META_STAT, faccessat, (int at, const char *path, int mode, int flags), (at, path, mode, flags))
META(META_CHANGE, unlink, (const char *path), (path))
META(META_CHANGE, unlinkat, (int at, const char *path, int flags), (at, path, flags))
META(META_CHANGE, rename, (const char *from, const char *to), (from, to))
META(META_CHANGE, renameat, (int at, const char *from, int there, const char *to), (at, from, there, to))
META(META_CHANGE, renameat2, (int at, const char *from, int there, const char *to, unsigned flags),
     (at, from, there, to, flags))
META(META_CHANGE, mkdir, (const char *path, mode_t mode), (path, mode))
META(META_CHANGE, mkdirat, (int at, const char *path, mode_t mode), (at, path, mode))
META(META_CHANGE, rmdir, (const char *path), (path))
META(META_CHANGE, link, (const char *from, const char *to), (from, to))
META(META_CHANGE, symlink, (const char *from, const char *to), (from, to))
META(META_CHANGE, truncate, (const char *path, off_t size), (path, size))
META(META_CHANGE, truncate64, (const char *path, off64_t size), (path, size))
META(META_CHANGE, ftruncate, (int fd, off_t size), (fd, size))
META(META_CHANGE, ftruncate64, (int fd, off64_t size), (fd, size))
META(META_CHANGE, chmod, (const char *path, mode_t mode), (path, mode))
META(META_SYNC, fsync, (int fd), (fd))
META(META_SYNC, fdatasync, (int fd), (fd))

EXPORT DIR *opendir(const char *path)
{
    struct io_cell *cell = meta_cell(META_LIST);
    const uint64_t before = cell ? clock_ticks() : 0;
    DIR *found = REAL(opendir)(path);

    if (cell)
        cell_timed(cell, 0, clock_ticks() - before);
    return found;
}

// fstat for the witness's own use. Its calls are not counted.
int posix_fstat(int fd, struct stat *found);
int posix_fstat(int fd, struct stat *found)
{
    __typeof__(&fstat) real = REAL(fstat); // exists since glibc 2.33

    return real ? real(fd, found) : REAL(__fxstat)(1, fd, found);
}

// -- functions that end a process without calling destructors

#define ENDS(function)                                                                                                 \
    EXPORT __attribute__((noreturn)) void function(int status)                                                         \
    {                                                                                                                  \
        report_write();                                                                                                \
        trace_flush();                                                                                                 \
        REAL(function)(status);                                                                                        \
        __builtin_unreachable();                                                                                       \
    }
ENDS(_exit)
ENDS(_Exit)
ENDS(quick_exit)
