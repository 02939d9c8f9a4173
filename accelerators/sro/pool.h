// SPDX-License-Identifier: Apache-2.0
// A few threads that load zones. libc knows nothing of them: they are made without its memory (a signal's handler may
// have interrupted malloc), they do not keep a program from ending whose last thread has, and they run no handler.
#ifndef SRO_POOL_H
#define SRO_POOL_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "limits.h"

struct job {
    int fd;
    uint32_t watched; // what the descriptor was: it must be that still
    dev_t dev;
    ino_t ino;
    int64_t begin; // bytes of the file
    int64_t end;
    uint64_t first; // pieces that are claimed
    uint64_t last;
};

enum job_state {
    JOB_NONE,
    JOB_CHANGING,
    JOB_WAITING,
};

struct worker {
    _Atomic uint32_t alive; // the kernel sets it to 0 when the thread has left its stack
    _Atomic uint32_t id;    // of the thread that was started last; 0: none was
    _Atomic uint32_t leaving;
    _Atomic uint32_t calling; // a descriptor and 1, while a system call uses it
    struct state *state;
    _Alignas(64) char stack[STACK_BYTES];
};

struct pool {
    _Atomic uint32_t broken; // a thread could not be made: no more are tried
    _Atomic uint32_t stopped;
    _Atomic uint32_t asked; // how often; what idle threads wait for
    _Atomic int32_t pid;    // whose threads these are
    _Atomic uint32_t uid;
    struct {
        _Atomic uint32_t state;
        struct job job;
    } queue[QUEUE_MAX];
    struct worker workers[THREADS_MAX];
};

struct state;

// Have this done, soon. Returns false where it cannot be. Changes errno.
bool pool_submit(struct state *state, const struct job *job);

// Wait for the call that a thread makes with this descriptor just now, which is about to be closed: a file that was
// written may be executed, or locked, right after its last close.
void pool_release(struct state *state, int first, int last);

// End all threads, for good.
void pool_stop(struct state *state);

// What a thread does. In worker.c.
int worker_run(void *worker);

#endif
