// SPDX-License-Identifier: Apache-2.0
// One read of the program's: what is asked before it and after it.
#ifndef SRO_ACCESS_H
#define SRO_ACCESS_H

#include <stdio.h>

#include "state.h"

#define OFFSET_CURRENT (-1LL) // where the descriptor is

struct access {
    struct descriptor *descriptor; // NULL: nothing is to be done after it
    uint32_t watched;
    int fd;
    int64_t offset;   // -1: not known yet
    int64_t begun_ns; // 0: not timed
    bool current;     // it moves the descriptor's position
    bool dozing;      // only the clock is looked at: has it become slow?
};

// Is this one of the reads to look at? This is all that most reads cost.
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

// Of one that is due. Both keep errno, wait for nothing and have no cancellation point.
void access_begin(struct access *access, int fd, int64_t offset);
void access_end(struct access *access, int64_t bytes);

// Of a FILE, whose reads libc makes by itself: fread() may read, and fseek() reads what is at the new place.
bool access_is_due_fread(const FILE *stream, size_t size, size_t count);
void access_end_fread(struct access *access, const FILE *stream);
void access_begin_fseek(struct access *access, const FILE *stream);
void access_end_fseek(struct access *access, const FILE *stream, int64_t before); // the stream's `_offset`

// The program has set the position.
void access_moved(int fd, int64_t position);

#endif
