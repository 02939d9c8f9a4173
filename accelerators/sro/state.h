// SPDX-License-Identifier: Apache-2.0
// All state of the library in a process, in one mapping that the kernel zeroes in a forked child. Zeros are a valid
// initial state, so the child starts with no lock held and no thread.
//
// The program's reads never wait for a lock of the library. If the lock is held (by another thread, by code that a
// signal handler interrupted, or by a canceled thread), the read continues without it.
#ifndef SRO_STATE_H
#define SRO_STATE_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "ledger.h"
#include "limits.h"
#include "pieces.h"
#include "pool.h"
#include "settings.h"
#include "window.h"

// Values of `watched` that do not identify a file. A file is identified by its place, which is its index in `files`,
// and the place's generation, shifted by PLACE_BITS. The generation changes when the place is assigned to another file.
#define WATCHED_NOT_YET 0U
#define WATCHED_NEVER 1U
#define PLACE_BITS 8U

struct descriptor {
    _Atomic uint32_t watched;
    _Atomic uint32_t calls;
    _Atomic uint32_t passed_over; // a mask; a call is processed if `calls` has none of the mask's bits
    _Atomic int64_t position;     // the estimated position of the next read(), see access.c
    _Atomic int64_t end;          // the end of the most recent access
};

struct counters {
    uint64_t accesses; // accesses that were added to the windows
    uint64_t misses;   // accesses that waited for the disk
    uint64_t hits;     // loaded parts that were read for the first time
    uint64_t evicted;  // pieces that were loaded and then evicted
    uint64_t zones;
    uint64_t bytes;
    uint64_t held_back; // zones that were not loaded because loading has saved too little so far
    uint64_t dropped;   // zones that were not loaded because the queue was full or there was no thread
};

struct file {
    _Atomic uint32_t lock;
    _Atomic uint32_t generation;
    _Atomic uint32_t used; // 1 if the file was read since the last search for a free place
    _Atomic uint32_t jobs; // zones that are queued or being loaded
    uint32_t calm;         // sum of the weights of consecutive accesses that needed no help, see limits.h
    uint32_t recent;       // a bit for each recent access to an unloaded piece, 1 if slow; lowest bit: most recent
    dev_t dev;
    ino_t ino;
    int64_t miss_ns;
    struct window window;
    struct piece *pieces;
    struct counters counters;
};

struct state {
    _Atomic uint32_t lock;   // held while places are assigned to files
    uint32_t hand;           // the place at which the next search starts
    _Atomic int32_t highest; // highest descriptor that was ever looked up
    struct ledger ledger;
    struct counters counters; // sums for files whose places were reassigned
    struct pool pool;
    struct descriptor descriptors[DESCRIPTORS_MAX];
    struct file files[FILES_MAX];
    struct piece pieces[FILES_MAX][PIECES_MAX];
    char windows[]; // FILES_MAX windows of window_bytes() each
};

extern struct state *_Atomic state_pointer;
extern _Atomic bool state_off;

// Read the settings once and create the state. Returns NULL if the library is off.
struct state *state_begin(void);

// Return the state; NULL if the library is off.
static inline struct state *state_get(void)
{
    struct state *state = atomic_load_explicit(&state_pointer, memory_order_acquire);
    if (!state && !atomic_load_explicit(&state_off, memory_order_relaxed)) {
        return state_begin();
    }
    return state;
}

const struct settings *state_settings(void);

static inline bool state_try(_Atomic uint32_t *lock)
{
    return !atomic_load_explicit(lock, memory_order_relaxed) &&
           !atomic_exchange_explicit(lock, 1, memory_order_acquire);
}

static inline void state_let_go(_Atomic uint32_t *lock)
{
    atomic_store_explicit(lock, 0, memory_order_release);
}

static inline struct file *state_file(struct state *state, uint32_t watched)
{
    return &state->files[(watched & ((1U << PLACE_BITS) - 1)) - 2];
}

#endif
