// SPDX-License-Identifier: Apache-2.0
// The work before and after one read of the program.
#ifndef SRO_ACCESS_H
#define SRO_ACCESS_H

#include <stdio.h>

#include "state.h"

#define OFFSET_CURRENT (-1LL) // the position of the descriptor

struct access {
    struct descriptor *descriptor; // NULL: nothing to do after the read
    uint32_t watched;
    int fd;
    int64_t offset;   // -1: still unknown
    int64_t begun_ns; // 0: not timed
    bool current;     // the read moves the position of the descriptor
    bool dozing;      // only the time is taken, to notice slow reads
};

// Return whether to process this read. For most reads this is the only cost.
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

// Call these for a read that is due. Both keep errno, never wait, and have no cancellation point.
void access_begin(struct access *access, int fd, int64_t offset);
void access_end(struct access *access, int64_t bytes);

// For a FILE, libc makes the reads itself: fread() may read, and fseek() reads at the new position.
bool access_is_due_fread(const FILE *stream, size_t size, size_t count);
void access_end_fread(struct access *access, const FILE *stream);
void access_begin_fseek(struct access *access, const FILE *stream);
void access_end_fseek(struct access *access, const FILE *stream, int64_t before); // the stream's `_offset`

// The program has set the position.
void access_moved(int fd, int64_t position);

#endif
