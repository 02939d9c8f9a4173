// SPDX-License-Identifier: Apache-2.0
// A few threads that load zones. They are invisible to libc: they are created without malloc (which a signal handler
// may have interrupted), they do not keep a program alive after its last thread ended, and they run no signal handler.
#ifndef SRO_POOL_H
#define SRO_POOL_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "limits.h"

struct job {
    int fd;
    uint32_t watched; // the descriptor's file, which must still be the same
    dev_t dev;
    ino_t ino;
    int64_t begin; // bytes of the file
    int64_t end;
    uint64_t first; // claimed pieces
    uint64_t last;
};

enum job_state {
    JOB_NONE,
    JOB_CHANGING,
    JOB_WAITING,
};

struct worker {
    _Atomic uint32_t alive; // the kernel clears it when the thread has left its stack
    _Atomic uint32_t id;    // of the thread that was started last; 0: none
    _Atomic uint32_t leaving;
    _Atomic uint32_t calling; // descriptor plus 1, while a system call uses it
    struct state *state;
    _Alignas(64) char stack[STACK_BYTES];
};

struct pool {
    _Atomic uint32_t broken; // a thread could not be created; no more attempts
    _Atomic uint32_t stopped;
    _Atomic uint32_t asked; // count of requests; idle threads wait for a change
    _Atomic int32_t pid;    // process that owns the threads
    _Atomic uint32_t uid;
    struct {
        _Atomic uint32_t state;
        struct job job;
    } queue[QUEUE_MAX];
    struct worker workers[THREADS_MAX];
};

struct state;

// Queue a job. Returns false if that is not possible. Changes errno.
bool pool_submit(struct state *state, const struct job *job);

// Wait for calls of threads that use these descriptors, which are about to be closed: right after its last close, a
// file that was written may be executed or locked.
void pool_release(struct state *state, int first, int last);

// End all threads permanently.
void pool_stop(struct state *state);

// The main function of a thread, in worker.c.
int worker_run(void *worker);

#endif
