// SPDX-License-Identifier: Apache-2.0
// Threads for work that may block: reading and writing flash, and libmunge.
#ifndef FORWARDER_POOL_H
#define FORWARDER_POOL_H

#include <event2/event.h>

struct pool;

// Work for a thread. Whoever adds it owns the memory, which must last until `done` was called.
struct work {
    struct work *next;
    void (*run)(struct work *work);  // in a thread; uses only the work's own data
    void (*done)(struct work *work); // in the event loop, afterwards
};

// Return a pool of `threads`; NULL with errno.
struct pool *pool_start(struct event_base *base, unsigned threads);
void pool_add(struct pool *pool, struct work *work);

// Wait for the work in progress, and end the threads. Work that was not started is forgotten.
void pool_stop(struct pool *pool);

#endif
