// SPDX-License-Identifier: Apache-2.0
#include "content.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "draw.h"

enum {
    SEED = 0, // a different seed produces different contents
    BLOCK_BYTES = 4 << 20,
};

void content_fill(unsigned char *bytes, size_t size, uint64_t offset)
{
    while (size) {
        uint64_t word = draw_bits(SEED, 0, offset / sizeof(word));
        size_t skip = offset % sizeof(word);
        size_t count = sizeof(word) - skip < size ? sizeof(word) - skip : size;
        memcpy(bytes, (const unsigned char *)&word + skip, count);
        bytes += count;
        offset += count;
        size -= count;
    }
}

uint64_t content_sum(const unsigned char *bytes, size_t size)
{
    uint64_t sum = 0;

    while (size) {
        uint64_t word = 0;
        size_t count = size < sizeof(word) ? size : sizeof(word);
        memcpy(&word, bytes, count);
        sum += word;
        bytes += count;
        size -= count;
    }
    return sum;
}

static int write_all(int fd, const unsigned char *bytes, size_t size)
{
    while (size) {
        ssize_t written = write(fd, bytes, size);
        if (written < 0 && errno == EINTR)
            continue;
        if (written <= 0)
            return -1;
        bytes += written;
        size -= (size_t)written;
    }
    return 0;
}

int content_create(const char *path, uint64_t size)
{
    unsigned char *block = NULL;
    int status = -1;
    int fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0644);

    if (fd < 0)
        return -1;
    block = malloc(BLOCK_BYTES);
    if (!block)
        goto out;
    for (uint64_t done = 0; done < size;) {
        size_t count = size - done < BLOCK_BYTES ? (size_t)(size - done) : BLOCK_BYTES;
        content_fill(block, count, done);
        if (write_all(fd, block, count))
            goto out;
        done += count;
    }
    status = fsync(fd);
out:;
    int saved = errno;
    free(block);
    close(fd);
    if (status)
        unlink(path);
    errno = saved;
    return status;
}

int content_make_cold(int fd)
{
    int error;

    if (fsync(fd)) // dirty pages could not be dropped from the page cache
        return -1;
    error = posix_fadvise(fd, 0, 0, POSIX_FADV_DONTNEED);
    errno = error;
    return error ? -1 : 0;
}
