// SPDX-License-Identifier: Apache-2.0
// All data that the witness has about a process, in one mapping. The kernel zeroes the mapping in a forked child, so
// the child's counts start from zero. The mapping exists only if a profile or an event record was requested. Otherwise
// `witness` is NULL, and calls are not counted.
#ifndef WITNESS_STATE_H
#define WITNESS_STATE_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "limits.h"
#include "table.h"

// Counts of calls of one kind to one file system. If the calls are short, only one of `period` calls is timed, and it
// represents all calls since the last timed one. A new random period is drawn after each timed call. With a fixed
// period, all timed calls or none of them might be calls that wait for the kernel, because the kernel reads ahead at
// regular distances.
struct io_cell {
    uint64_t calls;
    uint64_t bytes;
    uint64_t ticks;
    uint32_t since;
    uint32_t period;
    uint64_t usual;             // moving average of the ticks of a timed call
    uint32_t random;            // state of the xorshift generator; 0 before its first use
} __attribute__((aligned(64))); // the size of a cache line

enum direction { READING, WRITING, DIRECTIONS };
enum meta { META_OPEN, META_CLOSE, META_STAT, META_CHANGE, META_SYNC, META_LIST, METAS };

// Counters of a thread, and of earlier threads that used this block and have ended. The index `inside` of `io` is 1 for
// accesses during an MPI call.
struct block {
    _Atomic uint32_t taken;
    uint32_t used;
    struct io_cell io[MOUNTS_MAX][DIRECTIONS][2][2][CLASSES]; // indices: mount, direction, sequential, inside, class
    struct io_cell meta[METAS];
};

struct mount {
    _Atomic uint32_t ready;
    dev_t device;
    int64_t type; // f_type as returned by statfs
};

// A file that the process reads, see posix_inputs.h. `bytes` is set last, and shows that the entry is complete.
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
    int64_t position;           // estimated position of the next read()
    int64_t end;                // end of the most recent access; -1 before the first access
} __attribute__((aligned(32))); // two descriptors per cache line

struct mpi_state;

struct state {
    pid_t pid;
    uint64_t ticks, monotonic, realtime; // time on each clock when the process started
    uint64_t clock_cost;                 // time that reading the clock takes, in ticks
    _Atomic uint32_t mount_lock;
    _Atomic uint32_t threads_begun;
    _Atomic uint32_t is_writing; // 1 while a report is being written
    struct block blocks[THREADS_MAX];
    struct mount mounts[MOUNTS_MAX];
    struct descriptor descriptors[DESCRIPTORS_MAX];
    _Atomic uint32_t inputs_begun;
    struct input inputs[INPUTS_MAX];
    char mpi[]; // holds a struct mpi_state
};

extern struct state *witness;
extern char witness_profile[]; // directory that REPRISE_PROFILE names; empty if no profile is requested
extern char witness_trace[];   // directory that REPRISE_WITNESS_TRACE names; empty if no event record is requested

// Depth of nested MPI calls in this thread.
extern __thread int witness_inside __attribute__((tls_model("initial-exec")));

// Counters of the calling thread.
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

// Count a call that need not be timed. The call is counted before it is made, so that the compiler can turn the real
// call into a tail call of the wrapper. Returns false, without counting, if the call must be timed; cell_timed then
// counts it.
static inline bool cell_skips(struct io_cell *cell)
{
    if (cell->since + 1 >= cell->period)
        return false;
    cell->calls++;
    cell->since++;
    return true;
}

// Draw a period of 1 to 2 * TIMED_EVERY - 1 calls, all with equal probability.
static inline uint32_t cell_draw(struct io_cell *cell)
{
    uint32_t x = cell->random ? cell->random : (uint32_t)mix((uint64_t)(uintptr_t)cell, witness->ticks) | 1;

    x ^= x << 13;
    x ^= x >> 17;
    x ^= x << 5;
    cell->random = x;
    return 1 + (uint32_t)((uint64_t)x * (2 * TIMED_EVERY - 1) >> 32);
}

// Count a timed call. Its bytes and its time also count for each call since the last timed call.
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
