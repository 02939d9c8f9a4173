// SPDX-License-Identifier: Apache-2.0
// The threads that load zones. libc does not know about them: they are created without malloc, which a signal handler
// may have interrupted; they do not keep a program alive after its own last thread has ended; and they run no signal
// handlers.
#ifndef SRO_POOL_H
#define SRO_POOL_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "limits.h"

struct job {
    int fd;
    uint32_t watched; // `watched` of the descriptor at the request; if it has changed, nothing is loaded
    dev_t dev;
    ino_t ino;
    int64_t begin; // bytes of the file to load: from `begin` up to, but not including, `end`
    int64_t end;
    uint64_t first; // claimed pieces: from `first` up to, but not including, `last`
    uint64_t last;
};

enum job_state {
    JOB_NONE,
    JOB_CHANGING,
    JOB_WAITING,
};

struct worker {
    _Atomic uint32_t alive; // 1 while the thread exists; the kernel clears it when the thread no longer uses its stack
    _Atomic uint32_t id;    // id of the thread that was started most recently, or 0
    _Atomic uint32_t leaving;
    _Atomic uint32_t calling; // descriptor that a system call of the thread uses, plus 1; 0 if none
    struct state *state;
    _Alignas(64) char stack[STACK_BYTES];
};

struct pool {
    _Atomic uint32_t broken; // a thread could not be created, so no more attempts are made
    _Atomic uint32_t stopped;
    _Atomic uint32_t asked; // number of requests; idle threads wait for it to change
    _Atomic int32_t pid;    // process that owns the threads
    _Atomic uint32_t uid;
    struct {
        _Atomic uint32_t state;
        struct job job;
    } queue[QUEUE_MAX];
    struct worker workers[THREADS_MAX];
};

struct state;

// Queue a job. Returns false if the queue is full or no thread can take the job. Changes errno.
bool pool_submit(struct state *state, const struct job *job);

// Wait until no thread makes a system call with the descriptors from `first` to `last`, which are about to be closed. A
// program may execute or lock a file right after closing it, so the threads must not keep it open.
void pool_release(struct state *state, int first, int last);

// End all threads permanently.
void pool_stop(struct state *state);

// The main function of a thread, in worker.c.
int worker_run(void *worker);

#endif
