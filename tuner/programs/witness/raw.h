// SPDX-License-Identifier: Apache-2.0
// Direct system calls for the witness's own files. Unlike libc's functions, they do not pass through the witness's
// wrappers.
#ifndef WITNESS_RAW_H
#define WITNESS_RAW_H

#include <fcntl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

static inline int raw_open(const char *path, int flags, mode_t mode)
{
    int fd = (int)syscall(SYS_openat, AT_FDCWD, path, flags, mode);

    if (fd < 0 || fd > STDERR_FILENO)
        return fd;
    // The program has closed a standard stream, and the file now has the stream's descriptor number. Use a higher
    // number, because other threads may still write to the standard stream, and their output must not go to this file.
    const int higher = (int)syscall(SYS_fcntl, fd, F_DUPFD_CLOEXEC, STDERR_FILENO + 1);
    syscall(SYS_close, fd);
    return higher;
}

static inline ssize_t raw_read(int fd, void *data, size_t length)
{
    return syscall(SYS_read, fd, data, length);
}

static inline ssize_t raw_write(int fd, const void *data, size_t length)
{
    return syscall(SYS_write, fd, data, length);
}

// Append to a file. If the file would exceed the process's limit on file sizes (ulimit -f), return -1 without writing,
// because the write would make the kernel kill the process.
static inline ssize_t raw_append(int fd, const void *data, size_t length)
{
    const off_t end = (off_t)syscall(SYS_lseek, fd, 0, SEEK_END);
    struct rlimit most;

    if (end < 0 ||
        (getrlimit(RLIMIT_FSIZE, &most) == 0 && most.rlim_cur - (rlim_t)end < length && most.rlim_cur != RLIM_INFINITY))
        return -1;
    return raw_write(fd, data, length);
}

static inline int raw_close(int fd)
{
    return (int)syscall(SYS_close, fd);
}

#endif
