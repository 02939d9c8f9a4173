// SPDX-License-Identifier: Apache-2.0
// The code of the pool's threads. These threads have neither thread-local variables nor a stack guard of their own.
// They would use the variables and the guard of the thread that created them, which may have ended. Therefore this code
// must not use thread-local variables or stack guards (see the Makefile), and must not call libc.
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <linux/futex.h>
#include <sys/stat.h>
#include <time.h>

#include "pool.h"
#include "raw.h"
#include "state.h"

static int64_t now_ns(void)
{
    struct timespec now = {0};
    raw_call(SYS_clock_gettime, CLOCK_MONOTONIC, (long)&now, 0, 0, 0, 0);
    return now.tv_sec * 1000000000LL + now.tv_nsec;
}

// Return whether the descriptor still refers to the file for which the zone was requested. The worker sets `calling`
// before it calls this function, which reads `watched`. A thread that is about to close the descriptor does the
// reverse: it changes `watched`, then reads `calling`. At least one of the two threads therefore sees the change of the
// other.
static bool is_same(struct state *state, const struct job *job)
{
    struct stat now;
    if (atomic_load(&state->descriptors[job->fd].watched) != job->watched || raw_fstat(job->fd, &now)) {
        return false;
    }
    return now.st_dev == job->dev && now.st_ino == job->ino;
}

static int64_t step_from(const struct job *job, int64_t at)
{
    return job->end - at < STEP_BYTES ? job->end : at + STEP_BYTES;
}

// Make the kernel start reading a step, without waiting for it.
static void begin_step(const struct job *job, int64_t at)
{
    if (at < job->end) {
        raw_call(SYS_fadvise64, job->fd, at, step_from(job, at) - at, POSIX_FADV_WILLNEED, 0, 0);
    }
}

// Start reading the next step, and wait for the last byte of the step at `at`. Returns false if the file was truncated
// or cannot be read.
static bool end_step(const struct job *job, int64_t at)
{
    char byte;
    begin_step(job, step_from(job, at));
    return raw_call(SYS_pread64, job->fd, (long)&byte, 1, step_from(job, at) - 1, 0, 0) == 1;
}

static void load(struct worker *self, const struct job *job)
{
    struct state *state = self->state;
    struct file *file = state_file(state, job->watched);
    const int64_t piece = state_settings()->piece_bytes;
    int64_t spent = 0;
    uint64_t settled = job->first;
    bool going = true;
    ledger_begin(&state->ledger);
    for (int64_t at = job->begin; going && at < job->end; at = step_from(job, at)) {
        const int64_t begun = now_ns();
        atomic_store(&self->calling, (uint32_t)job->fd + 1);
        going = is_same(state, job) && !atomic_load(&state->pool.stopped);
        if (going && at == job->begin) {
            begin_step(job, at);
        }
        going = going && end_step(job, at);
        atomic_store(&self->calling, 0);
        spent += ledger_share(&state->ledger, now_ns() - begun);
        uint64_t loaded = going ? (uint64_t)(step_from(job, at) / piece) : settled;
        loaded = step_from(job, at) == job->end && going ? job->last : loaded;
        if (loaded > settled) {
            pieces_loaded(file->pieces, settled, loaded, ledger_now(&state->ledger));
            settled = loaded;
        }
    }
    pieces_give_up(file->pieces, settled, job->last);
    ledger_end(&state->ledger, job->end - job->begin, spent);
    atomic_fetch_sub(&file->jobs, 1);
}

static bool take(struct pool *pool, struct job *job)
{
    for (int i = 0; i < QUEUE_MAX; i++) {
        uint32_t waiting = JOB_WAITING;
        if (atomic_compare_exchange_strong(&pool->queue[i].state, &waiting, JOB_CHANGING)) {
            *job = pool->queue[i].job;
            atomic_store(&pool->queue[i].state, JOB_NONE);
            return true;
        }
    }
    return false;
}

int worker_run(void *argument)
{
    struct worker *self = argument;
    struct pool *pool = &self->state->pool;
    const struct timespec idle = {.tv_sec = IDLE_NS / 1000000000LL, .tv_nsec = IDLE_NS % 1000000000LL};
    struct job job;
    while (!atomic_load(&pool->stopped)) {
        uint32_t asked = atomic_load(&pool->asked);
        if (take(pool, &job)) {
            atomic_store(&self->leaving, 0);
            load(self, &job);
        } else if (atomic_load(&self->leaving)) {
            break; // no request arrived since `asked` was read
        } else if (raw_call(SYS_futex, (long)&pool->asked, FUTEX_WAIT_PRIVATE, asked, (long)&idle, 0, 0) ==
                   -ETIMEDOUT) {
            atomic_store(&self->leaving, 1);
        }
    }
    atomic_store(&self->leaving, 1);
    return 0;
}
