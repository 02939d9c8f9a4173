// SPDX-License-Identifier: Apache-2.0
#define _GNU_SOURCE
#include "bounded_file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

// Only regular files are opened: opening a pipe would wake its writer, and opening a tape would move the tape. With
// O_NONBLOCK, open(2) does not block if a pipe has replaced the file since the check.
int bounded_file_open(struct bounded_file *file, const char *path)
{
    struct stat status;
    const bool is_file = stat(path, &status) == 0 && S_ISREG(status.st_mode);
    const int fd = is_file ? open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY) : -1;
    if (fd < 0) {
        return -1;
    }
    if (bounded_file_take(file, fd)) {
        close(fd);
        return -1;
    }
    return 0;
}

int bounded_file_take(struct bounded_file *file, int fd)
{
    struct stat status;
    if (fstat(fd, &status) || !S_ISREG(status.st_mode)) {
        return -1;
    }
    *file = (struct bounded_file){.fd = fd, .size = (uint64_t)status.st_size, .left = BOUNDED_FILE_BYTES};
    return 0;
}

// Read `size` bytes from `start`, or fewer at the end of the file. Returns the number of bytes read, or -1.
static ssize_t read_at(int fd, unsigned char *bytes, size_t size, off_t start)
{
    size_t done = 0;
    while (done < size) {
        const ssize_t got = pread(fd, bytes + done, size - done, start + (off_t)done);
        if (got == 0) {
            break;
        }
        if (got > 0) {
            done += (size_t)got;
        } else if (errno != EINTR) {
            return -1;
        }
    }
    return (ssize_t)done;
}

int bounded_file_read(struct bounded_file *file, uint64_t start, uint64_t size, struct bytes *bytes)
{
    const uint64_t there = start < file->size ? file->size - start : 0;
    const uint64_t wanted = size < there ? size : there;
    *bytes = (struct bytes){0};
    if (wanted > file->left) {
        return -1;
    }
    file->left -= wanted;
    bytes->at = malloc((size_t)wanted + 1); // plus 1, because malloc(0) may return NULL
    const ssize_t got = bytes->at ? read_at(file->fd, bytes->at, (size_t)wanted, (off_t)start) : -1;
    if (got < 0) {
        free(bytes->at);
        *bytes = (struct bytes){0};
        return -1;
    }
    bytes->size = (size_t)got;
    return 0;
}

void bounded_file_close(struct bounded_file *file)
{
    close(file->fd);
    file->fd = -1;
}
