// SPDX-License-Identifier: Apache-2.0
// Finds the cells that count reads and writes of files.
#ifndef WITNESS_POSIX_ACCESS_H
#define WITNESS_POSIX_ACCESS_H

#include "clock.h"
#include "state.h"

// Determine at a descriptor's first use whether it refers to a file. Returns true if so.
bool access_look_at(int fd, struct descriptor *descriptor);

static inline struct descriptor *access_file(int fd)
{
    if (!witness || fd < 0 || fd >= DESCRIPTORS_MAX)
        return NULL;
    struct descriptor *descriptor = &witness->descriptors[fd];
    if (__builtin_expect(atomic_load_explicit(&descriptor->what, memory_order_acquire) != FD_FILE, 0) &&
        !access_look_at(fd, descriptor))
        return NULL;
    return descriptor;
}

// Return the cell that counts an access to a file, and advance the descriptor's tracked position. Returns NULL if the
// descriptor does not refer to a file, or if nothing is counted. `offset` is -1 for an access at the descriptor's
// position.
static inline struct io_cell *access_cell(int fd, enum direction direction, uint64_t bytes, int64_t offset)
{
    struct descriptor *descriptor = access_file(fd);

    if (!descriptor)
        return NULL;
    const int64_t at = offset < 0 ? descriptor->position : offset;
    const bool is_sequential = descriptor->end < 0 || at == descriptor->end;
    descriptor->end = at + (int64_t)bytes;
    if (offset < 0)
        descriptor->position = descriptor->end; // an estimate, because less may be read at the end of a file
    return &state_block()->io[descriptor->mount][direction][is_sequential][witness_inside > 0][state_class(bytes)];
}

void access_placed(int fd, int64_t position);
void access_forget(int fd);
void access_forget_from(int first);

// Make a call, and add its bytes and time to a cell.
#define TIMED(result, cell, scale, expression)                                                                         \
    do {                                                                                                               \
        const uint64_t before_ = clock_ticks();                                                                        \
        result = expression;                                                                                           \
        cell_timed(cell, (int64_t)result *(scale), clock_ticks() - before_);                                           \
    } while (0)

#endif
