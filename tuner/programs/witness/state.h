// SPDX-License-Identifier: Apache-2.0
// All that the witness keeps of a process, in one mapping that a forked child finds all zeros, so that it begins anew.
// There is none where nobody asked for a profile or an event record: `witness` is NULL then, and calls just go through.
#ifndef WITNESS_STATE_H
#define WITNESS_STATE_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "limits.h"
#include "table.h"

// Calls of one sort to one file system. Where they are short only one of `period` is timed, and counts for all since
// the last timed one. The period is drawn anew each time: the kernel reads ahead at regular distances, and a fixed one
// would meet always the calls that wait for it, or never.
struct io_cell {
    uint64_t calls;
    uint64_t bytes;
    uint64_t ticks;
    uint32_t since;
    uint32_t period;
    uint64_t usual;             // ticks of a call, lately
    uint32_t random;            // xorshift's state; 0: none yet
} __attribute__((aligned(64))); // a cache line

enum direction { READING, WRITING, DIRECTIONS };
enum meta { META_OPEN, META_CLOSE, META_STAT, META_CHANGE, META_SYNC, META_LIST, METAS };

// Counters of one thread, and of those that had it before and ended. `inside`: while an MPI call is under way.
struct block {
    _Atomic uint32_t taken;
    uint32_t used;
    struct io_cell io[MOUNTS_MAX][DIRECTIONS][2][2][CLASSES]; // mount, direction, sequential, inside, class
    struct io_cell meta[METAS];
};

struct mount {
    _Atomic uint32_t ready;
    dev_t device;
    int64_t type; // f_type of statfs
};

// A file that was there when it was opened for reading. `bytes` is set last.
struct input {
    dev_t device;
    ino_t inode;
    char path[INPUT_PATH];
    _Atomic int64_t bytes;
};

enum { FD_NEW, FD_FILE, FD_OTHER };

struct descriptor {
    _Atomic uint8_t what;
    uint8_t mount;
    int64_t position;           // where read() will be, as far as known
    int64_t end;                // of the last access; -1 for none yet
} __attribute__((aligned(32))); // two in a cache line

struct mpi_state;

struct state {
    pid_t pid;
    uint64_t ticks, monotonic, realtime; // the same moment, at the start
    uint64_t clock_cost;                 // ticks of looking at the clock
    _Atomic uint32_t mount_lock;
    _Atomic uint32_t threads_begun;
    _Atomic uint32_t is_writing; // the report
    struct block blocks[THREADS_MAX];
    struct mount mounts[MOUNTS_MAX];
    struct descriptor descriptors[DESCRIPTORS_MAX];
    _Atomic uint32_t inputs_begun;
    struct input inputs[INPUTS_MAX];
    char mpi[]; // struct mpi_state
};

extern struct state *witness;
extern char witness_profile[]; // directory of REPRISE_PROFILE; empty: no profile
extern char witness_trace[];   // of REPRISE_WITNESS_TRACE

// The depth of MPI calls that this thread is in.
extern __thread int witness_inside __attribute__((tls_model("initial-exec")));

// The calling thread's counters.
extern __thread struct block *state_own __attribute__((tls_model("initial-exec")));
struct block *state_take_block(void);

static inline struct block *state_block(void)
{
    return __builtin_expect(state_own != NULL, 1) ? state_own : state_take_block();
}

static inline unsigned state_class(uint64_t bytes)
{
    unsigned class = bytes ? 64 - (unsigned)__builtin_clzll(bytes) : 0;

    return class < CLASSES ? class : CLASSES - 1;
}

// Counts a call that is not timed, before it is made: so it can be the wrapper's last act, and costs no return of its
// own. False where the call is to be timed; then `cell_timed` counts it.
static inline bool cell_skips(struct io_cell *cell)
{
    if (cell->since + 1 >= cell->period)
        return false;
    cell->calls++;
    cell->since++;
    return true;
}

// 1 to 2 * TIMED_EVERY - 1 calls, all as likely.
static inline uint32_t cell_draw(struct io_cell *cell)
{
    uint32_t x = cell->random ? cell->random : (uint32_t)mix((uint64_t)(uintptr_t)cell, witness->ticks) | 1;

    x ^= x << 13;
    x ^= x >> 17;
    x ^= x << 5;
    cell->random = x;
    return 1 + (uint32_t)((uint64_t)x * (2 * TIMED_EVERY - 1) >> 32);
}

// A timed call stands for those since the last one, in bytes and in time.
static inline void cell_timed(struct io_cell *cell, int64_t bytes, uint64_t ticks)
{
    cell->calls++;
    cell->bytes += (bytes > 0 ? (uint64_t)bytes : 0) * (cell->since + 1);
    cell->ticks += ticks * (cell->since + 1);
    cell->since = 0;
    cell->usual = cell->usual ? (cell->usual * 7 + ticks) / 8 : ticks;
    cell->period = cell->calls > 32 && cell->usual < WORTH_CLOCK * witness->clock_cost ? cell_draw(cell) : 1;
}

#endif
