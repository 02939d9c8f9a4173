// SPDX-License-Identifier: Apache-2.0
#include "forge_target.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "forge_data.h"

#define STAMP 8 // bytes at the start of a request that are set and compared without validation

static double now_s(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

// Wait before a request, as if the client computed. A signal may shorten this.
static void wait_before(const struct forge_move *move, uint64_t request)
{
    const double seconds = forge_pause(move->pause_s, move->client, request);
    const struct timespec left = {.tv_sec = (time_t)seconds,
                                  .tv_nsec = (long)(1e9 * (seconds - (double)(time_t)seconds))};
    if (seconds > 0)
        (void)nanosleep(&left, NULL);
}

void forge_target_set(struct forge_target *target, const char *path, bool is_individual, uint64_t run, uint32_t rank)
{
    *target = (struct forge_target){.path = path, .is_individual = is_individual, .fd = -1};
    target->seed = run * 2654435761U + (is_individual ? rank + 1 : 0);
    if (is_individual)
        snprintf(target->name, sizeof target->name, "%s.%" PRIx64 ".%" PRIu32, path, run, rank);
    else
        snprintf(target->name, sizeof target->name, "%s.%" PRIx64, path, run);
}

int forge_target_open(struct forge_target *target, bool create, bool is_direct, char error[FORGE_ERROR_BYTES])
{
    const int flags = O_RDWR | O_CLOEXEC | (is_direct ? O_DIRECT : 0) | (create ? O_CREAT | O_EXCL : 0);
    target->fd = open(target->name, flags, 0600);
    if (target->fd < 0) {
        const char *remedy = errno == EINVAL && is_direct ? "leave out direct_io, or use another file system"
                                                          : "give a path where the job's user can create files";
        snprintf(error, FORGE_ERROR_BYTES, "%s: cannot be opened (%s): %s", target->name, strerror(errno), remedy);
        return -1;
    }
    target->is_creator |= create;
    target->is_created = true;
    return 0;
}

int forge_target_close(struct forge_target *target, char error[FORGE_ERROR_BYTES])
{
    const int fd = target->fd;
    target->fd = -1;
    if (fd >= 0 && close(fd) < 0) {
        snprintf(error, FORGE_ERROR_BYTES, "%s: cannot be closed (%s): see the file system's log", target->name,
                 strerror(errno));
        return -1;
    }
    return 0;
}

// Write or read one request completely. Returns 0, or an error number; -1 means the end of the file.
static int transfer(int fd, const struct forge_move *move, uint64_t offset)
{
    for (uint64_t done = 0; done < move->pattern.size;) {
        unsigned char *at = move->buffer + done;
        const size_t left = move->pattern.size - done;
        const off_t position = (off_t)(offset + done);
        const ssize_t moved = move->is_write ? pwrite(fd, at, left, position) : pread(fd, at, left, position);
        if (moved < 0 && errno == EINTR)
            continue;
        if (moved < 0)
            return errno;
        if (moved == 0)
            return move->is_write ? ENOSPC : -1;
        done += (uint64_t)moved;
    }
    return 0;
}

static int complain(const struct forge_target *target, const struct forge_move *move, uint64_t offset, int number,
                    char error[FORGE_ERROR_BYTES])
{
    const char *what = move->is_write ? "written" : "read";
    const char *remedy = "see the file system's log";
    if (number == EINVAL)
        remedy = "with direct_io, the request size must be a multiple of the file system's block size";
    else if (number == ENOSPC || number == EDQUOT)
        remedy = "use a smaller total_size, or free some space";
    else if (number < 0)
        remedy = "another program has shortened the file";
    snprintf(error, FORGE_ERROR_BYTES, "%s: cannot be %s at byte %" PRIu64 " (%s): %s", target->name, what, offset,
             number < 0 ? "end of file" : strerror(number), remedy);
    return -1;
}

static int compare(const struct forge_target *target, const struct forge_move *move, uint64_t offset, size_t compared,
                   char error[FORGE_ERROR_BYTES])
{
    const size_t equal = forge_data_equal(move->buffer, compared, target->seed, offset);
    if (equal == compared)
        return 0;
    snprintf(error, FORGE_ERROR_BYTES,
             "%s: byte %" PRIu64 " differs from what was written: do not trust this file system or its forwarders",
             target->name, offset + equal);
    return -1;
}

int forge_target_move(struct forge_target *target, struct forge_move *move, char error[FORGE_ERROR_BYTES])
{
    const uint64_t size = move->pattern.size;
    const size_t compared = move->is_validated || size < STAMP ? size : STAMP;
    const double begun = now_s();

    move->seconds = 0;
    move->bytes = 0;
    move->is_stopped = false;
    if (move->is_write)
        forge_data_fill(move->buffer, size, target->seed, 0); // also the bytes that are not compared are random
    for (uint64_t request = 0; request < move->pattern.count && request < move->most; request++) {
        const uint64_t offset = forge_offset(&move->pattern, move->client, request);
        wait_before(move, request);
        if (move->stone_wall_s > 0 && now_s() - begun >= move->stone_wall_s) {
            move->is_stopped = true;
            break;
        }
        if (move->is_write)
            forge_data_fill(move->buffer, compared, target->seed, offset);
        const double called = now_s();
        const int number = transfer(target->fd, move, offset);
        move->seconds += now_s() - called;
        if (number)
            return complain(target, move, offset, number, error);
        move->bytes += size;
        if (!move->is_write && compare(target, move, offset, compared, error) < 0)
            return -1;
    }
    if (move->is_write) {
        const double called = now_s();
        if (fsync(target->fd) < 0)
            return complain(target, move, 0, errno, error);
        move->seconds += now_s() - called;
    }
    return 0;
}

void forge_target_forget(const struct forge_target *target)
{
    (void)posix_fadvise(target->fd, 0, 0, POSIX_FADV_DONTNEED);
}

void forge_target_remove(struct forge_target *target)
{
    if (target->fd >= 0)
        (void)close(target->fd);
    target->fd = -1;
    if (target->is_creator)
        (void)unlink(target->name);
    target->is_creator = false;
}
