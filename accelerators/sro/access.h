// SPDX-License-Identifier: Apache-2.0
// The library's work before and after each read that the program makes.
#ifndef SRO_ACCESS_H
#define SRO_ACCESS_H

#include <stdio.h>

#include "state.h"

#define OFFSET_CURRENT (-1LL) // means the descriptor's current position

struct access {
    struct descriptor *descriptor; // if NULL, access_end does nothing
    uint32_t watched;
    int fd;
    int64_t offset;   // -1 while unknown
    int64_t begun_ns; // 0 if the read is not timed
    bool current;     // the read moves the position of the descriptor
    bool dozing;      // the read is only timed, to detect that reads have become slow
};

// Return whether this read must be processed. For most reads this check is the only cost.
static inline bool access_is_due(int fd)
{
    struct state *state = state_get();
    if (!state || (unsigned)fd >= DESCRIPTORS_MAX) {
        return false;
    }
    struct descriptor *descriptor = &state->descriptors[fd];
    const uint32_t calls = atomic_load_explicit(&descriptor->calls, memory_order_relaxed) + 1;
    atomic_store_explicit(&descriptor->calls, calls, memory_order_relaxed);
    return !(calls & atomic_load_explicit(&descriptor->passed_over, memory_order_relaxed));
}

// Call access_begin before a read for which access_is_due returns true, and access_end after that read. Both functions
// preserve errno, never wait, and are not cancellation points.
void access_begin(struct access *access, int fd, int64_t offset);
void access_end(struct access *access, int64_t bytes);

// Counterparts for streams (FILE), whose reads libc makes internally: fread() may read, and fseek() reads at the new
// position.
bool access_is_due_fread(const FILE *stream, size_t size, size_t count);
void access_end_fread(struct access *access, const FILE *stream);
void access_begin_fseek(struct access *access, const FILE *stream);
// `before` is the value of the stream's field `_offset` before fseek().
void access_end_fseek(struct access *access, const FILE *stream, int64_t before);

// Record that the program has set a descriptor's position.
void access_moved(int fd, int64_t position);

#endif
