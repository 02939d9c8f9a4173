// SPDX-License-Identifier: Apache-2.0
// Functions of libc that fortified programs call, internal names that libc exports, and functions that not all
// supported versions of libc declare. Preloaded libraries wrap these functions.
#ifndef LIBC_NAMES_H
#define LIBC_NAMES_H

#include <stdio.h>
#include <sys/types.h>

ssize_t __read(int fd, void *to, size_t bytes);
ssize_t __read_chk(int fd, void *to, size_t bytes, size_t room);
ssize_t __pread64(int fd, void *to, size_t bytes, off64_t offset);
ssize_t __pread_chk(int fd, void *to, size_t bytes, off_t offset, size_t room);
ssize_t __pread64_chk(int fd, void *to, size_t bytes, off64_t offset, size_t room);
ssize_t __write(int fd, const void *from, size_t bytes);
ssize_t __pwrite64(int fd, const void *from, size_t bytes, off64_t offset);
size_t __fread_chk(void *to, size_t room, size_t size, size_t count, FILE *stream);
size_t __fread_unlocked_chk(void *to, size_t room, size_t size, size_t count, FILE *stream);
int __open_2(const char *path, int flags);
int __open64_2(const char *path, int flags);
int __openat_2(int directory, const char *path, int flags);
int __openat64_2(int directory, const char *path, int flags);
int close_range(unsigned first, unsigned last, int flags);
void closefrom(int first);
int __close(int fd);
int __dup2(int from, int to);
off_t __lseek(int fd, off_t offset, int whence);

_Static_assert(sizeof(off_t) == sizeof(off64_t), "pread and pread64 are the same on this system");

#endif
