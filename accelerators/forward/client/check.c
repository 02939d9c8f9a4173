// SPDX-License-Identifier: Apache-2.0
#include "check.h"

#include <string.h>
#include <time.h>

#include "raw.h"

#define TICK_NS 2000000000LL // longest time within which two writes may leave the same time of change

// Return whether the first bytes in the file are those in the program's buffers.
static bool is_equal(const struct request *request, int64_t start, size_t bytes, uint8_t *buffer)
{
    size_t compared = 0;
    const long got =
        raw_call(SYS_pread64, request->fd, (long)buffer, bytes < PAGE_BYTES ? (long)bytes : PAGE_BYTES, start, 0, 0);
    for (int i = 0; i < request->count && got > 0 && compared < (size_t)got; i++) {
        const struct iovec *part = &request->vectors[i];
        const size_t length = part->iov_len < (size_t)got - compared ? part->iov_len : (size_t)got - compared;
        if (memcmp(part->iov_base, buffer + compared, length) != 0) {
            return false;
        }
        compared += length;
    }
    return compared > 0;
}

// Return whether a write to a file that cannot be read has left a trace: the file's size or its time of change. Two
// writes in a short time may leave the same time.
static bool is_changed(const struct request *request, const struct target *target, int64_t start, size_t bytes)
{
    struct stat now;
    struct timespec clock;
    if (raw_fstat(request->fd, &now) || now.st_size < start + (int64_t)bytes) {
        return false;
    }
    const struct timespec *before = &target->status.st_ctim;
    clock_gettime(CLOCK_REALTIME, &clock);
    const int64_t age = (clock.tv_sec - before->tv_sec) * 1000000000LL + clock.tv_nsec - before->tv_nsec;
    return now.st_size != target->status.st_size || now.st_ctim.tv_sec != before->tv_sec ||
           now.st_ctim.tv_nsec != before->tv_nsec || age < TICK_NS;
}

bool check_bytes(const struct request *request, const struct target *target, int64_t start, size_t bytes,
                 uint8_t *buffer)
{
    return target->readable ? is_equal(request, start, bytes, buffer) : is_changed(request, target, start, bytes);
}
