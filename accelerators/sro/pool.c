// SPDX-License-Identifier: Apache-2.0
#define _GNU_SOURCE
#include "pool.h"

#include <linux/futex.h>
#include <sched.h>
#include <signal.h>
#include <time.h>
#include <unistd.h>

#include "clock.h"
#include "raw.h"
#include "state.h"

// Return false in a child of vfork. Such a child runs in its parent's memory and must not start threads there, because
// the threads would belong to the child.
static bool is_ours(struct pool *pool)
{
    pid_t self = (pid_t)raw_call(SYS_getpid, 0, 0, 0, 0, 0, 0);
    pid_t known = atomic_load(&pool->pid);
    if (known != self) {
        if (known && known == getppid()) {
            return false;
        }
        atomic_store(&pool->pid, self);
    }
    return true;
}

// Return whether the threads have the program's user id. A thread keeps the user id that it was created with, even if
// the program changes its user id.
static bool has_our_user(struct pool *pool)
{
    uint32_t uid = geteuid();
    if (uid != atomic_load(&pool->uid)) {
        for (int i = 0; i < THREADS_MAX; i++) {
            if (atomic_load(&pool->workers[i].alive)) {
                return false; // the old threads end when they are idle
            }
        }
        atomic_store(&pool->uid, uid);
    }
    return true;
}

static void start(struct state *state, struct worker *worker)
{
    const int flags = CLONE_VM | CLONE_FS | CLONE_FILES | CLONE_SIGHAND | CLONE_THREAD | CLONE_SYSVSEM |
                      CLONE_PARENT_SETTID | CLONE_CHILD_CLEARTID;
    const uint64_t all = ~0ULL;
    uint64_t before = 0;
    uint32_t none = 0;
    if (!atomic_compare_exchange_strong(&worker->alive, &none, 1)) {
        return;
    }
    worker->state = state;
    atomic_store(&worker->leaving, 0);
    // Block all signals with the system call, because libc's function does not block the signals that libc uses itself.
    raw_call(SYS_rt_sigprocmask, SIG_SETMASK, (long)&all, (long)&before, sizeof all, 0, 0);
    void *id = (void *)&worker->id, *alive = (void *)&worker->alive;
    if (clone(worker_run, worker->stack + sizeof worker->stack, flags, worker, id, NULL, alive) < 0) {
        atomic_store(&worker->alive, 0);
        atomic_store(&state->pool.broken, 1);
    }
    raw_call(SYS_rt_sigprocmask, SIG_SETMASK, (long)&before, 0, sizeof before, 0, 0);
}

static bool put(struct pool *pool, const struct job *job)
{
    for (int i = 0; i < QUEUE_MAX; i++) {
        uint32_t none = JOB_NONE;
        if (atomic_compare_exchange_strong(&pool->queue[i].state, &none, JOB_CHANGING)) {
            pool->queue[i].job = *job;
            atomic_store(&pool->queue[i].state, JOB_WAITING);
            return true;
        }
    }
    return false;
}

// Start a thread for each zone that waits, up to THREADS_MAX threads. Returns whether any thread remains to load zones.
static bool staff(struct state *state)
{
    struct pool *pool = &state->pool;
    int waiting = 0, staying = 0;
    for (int i = 0; i < QUEUE_MAX; i++) {
        waiting += atomic_load(&pool->queue[i].state) == JOB_WAITING;
    }
    for (int i = 0; i < THREADS_MAX; i++) {
        struct worker *worker = &pool->workers[i];
        if (!atomic_load(&worker->alive) && staying < waiting && !atomic_load(&pool->broken)) {
            start(state, worker);
        }
        staying += atomic_load(&worker->alive) && !atomic_load(&worker->leaving);
    }
    return staying > 0;
}

bool pool_submit(struct state *state, const struct job *job)
{
    struct pool *pool = &state->pool;
    if (atomic_load(&pool->stopped) || !is_ours(pool) || !has_our_user(pool) || !put(pool, job)) {
        return false;
    }
    bool staffed = staff(state);
    atomic_fetch_add(&pool->asked, 1);
    raw_call(SYS_futex, (long)&pool->asked, FUTEX_WAKE_PRIVATE, 1, 0, 0, 0);
    if (!staffed) { // no thread will load the zone
        for (int i = 0; i < QUEUE_MAX; i++) {
            uint32_t waiting = JOB_WAITING;
            atomic_compare_exchange_strong(&pool->queue[i].state, &waiting, JOB_NONE);
        }
    }
    return staffed;
}

// Sleep briefly, without a cancellation point.
static void rest(void)
{
    const struct timespec short_time = {.tv_nsec = 50000};
    raw_call(SYS_nanosleep, (long)&short_time, 0, 0, 0, 0, 0);
}

void pool_release(struct state *state, int first, int last)
{
    int64_t until = 0;
    for (int i = 0; i < THREADS_MAX; i++) {
        for (;;) {
            uint32_t calling = atomic_load(&state->pool.workers[i].calling);
            if (calling < (uint32_t)first + 1 || calling > (uint32_t)last + 1) {
                break;
            }
            until = until ? until : clock_now_ns() + CLOSE_WAIT_NS;
            if (clock_now_ns() > until) { // the disk hangs, and close() must not wait for it
                return;
            }
            rest();
        }
    }
}

// Wait until a thread has been removed from the process, or until `until`. The kernel first clears `alive` and removes
// the thread a moment later. Meanwhile unshare(2) sees several threads and fails (seen once in 200 calls on a busy
// machine).
static void await_end(struct worker *worker, int64_t until)
{
    const long self = raw_call(SYS_getpid, 0, 0, 0, 0, 0, 0);
    const long id = atomic_load(&worker->id);
    while (atomic_load(&worker->alive) && clock_now_ns() < until) {
        rest();
    }
    while (id && raw_call(SYS_tgkill, self, id, 0, 0, 0, 0) == 0 && clock_now_ns() < until) {
        rest();
    }
    if (id) {
        rest(); // `alive` is cleared before the thread is removed
    }
}

void pool_stop(struct state *state)
{
    struct pool *pool = &state->pool;
    const int64_t until = clock_now_ns() + CLOSE_WAIT_NS;
    atomic_store(&pool->stopped, 1);
    atomic_fetch_add(&pool->asked, 1);
    raw_call(SYS_futex, (long)&pool->asked, FUTEX_WAKE_PRIVATE, THREADS_MAX, 0, 0, 0);
    for (int i = 0; i < THREADS_MAX; i++) {
        await_end(&pool->workers[i], until);
    }
}
