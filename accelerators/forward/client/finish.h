// SPDX-License-Identifier: Apache-2.0
// Does directly what is left of a call.
#ifndef FORWARD_FINISH_H
#define FORWARD_FINISH_H

#include "target.h"

// Move the bytes that the forwarder did not move, from `done` on. Returns how many bytes were moved altogether, or a
// negative error number if none were.
int64_t finish(const struct request *request, int64_t start, size_t done, size_t bytes);

// Do so for a call that was forwarded in part, and count the bytes.
static inline int64_t finish_counted(struct state *state, const struct request *request, int64_t start, size_t done,
                                     size_t bytes)
{
    const int64_t moved = finish(request, start, done, bytes);
    state_count(&state->counters.redone_bytes, moved > 0 ? (uint64_t)moved - done : 0);
    return moved;
}

#endif
