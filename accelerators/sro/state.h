// SPDX-License-Identifier: Apache-2.0
// All that the library knows of a process, in one mapping that a forked child finds all zeros: there it begins anew,
// with no lock held and no thread. All zeros is a good beginning.
//
// Nobody who calls the program's reads ever waits for a lock here. Who finds one taken (by another thread, by what a
// signal's handler interrupted, by a thread that was cancelled) goes on without.
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

// What a descriptor is, as far as known: a file's place with its generation, so that one that was given up is told.
#define WATCHED_NOT_YET 0U
#define WATCHED_NEVER 1U
#define PLACE_BITS 8U

struct descriptor {
    _Atomic uint32_t watched;
    _Atomic uint32_t calls;
    _Atomic uint32_t passed_over; // a mask: calls are looked at when their number has none of its bits
    _Atomic int64_t position;     // where read() will be: a guess, see access.c
    _Atomic int64_t end;          // of the last access
};

struct counters {
    uint64_t accesses; // in the windows
    uint64_t misses;   // that were seen to wait for the disk
    uint64_t hits;     // parts of what was loaded, read for the first time
    uint64_t evicted;  // pieces that were loaded and found gone
    uint64_t zones;
    uint64_t bytes;
    uint64_t held_back; // zones of which nothing was loaded, since loading saved too little so far
    uint64_t dropped;   // zones that were not loaded: the queue was full, or there was no thread
};

struct file {
    _Atomic uint32_t lock;
    _Atomic uint32_t generation;
    _Atomic uint32_t used; // since somebody looked for room
    _Atomic uint32_t jobs; // under way
    uint32_t calm;         // accesses in a row that needed no help, see limits.h
    uint32_t recent;       // a bit for each access to what is not loaded, the last one lowest: was it slow?
    dev_t dev;
    ino_t ino;
    int64_t miss_ns;
    struct window window;
    struct piece *pieces;
    struct counters counters;
};

struct state {
    _Atomic uint32_t lock;   // of the files' places
    uint32_t hand;           // where room is looked for next
    _Atomic int32_t highest; // descriptor
    struct ledger ledger;
    struct counters counters; // of files that were given up
    struct pool pool;
    struct descriptor descriptors[DESCRIPTORS_MAX];
    struct file files[FILES_MAX];
    struct piece pieces[FILES_MAX][PIECES_MAX];
    char windows[]; // FILES_MAX of window_bytes()
};

extern struct state *_Atomic state_pointer;
extern _Atomic bool state_off;

// Reads the settings, once.
struct state *state_begin(void);

// NULL where the library is off.
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
