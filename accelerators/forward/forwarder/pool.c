// SPDX-License-Identifier: Apache-2.0
#include "pool.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "limits.h"

struct list {
    struct work *first;
    struct work *last;
};

struct pool {
    pthread_mutex_t lock;
    pthread_cond_t changed;
    struct list waiting;  // under the lock
    struct list finished; // under the lock
    bool stopping;        // under the lock
    unsigned count;
    pthread_t threads[THREADS_MAX];
    int fd; // readable when work has finished
    struct event *readable;
};

static void append(struct list *list, struct work *work)
{
    work->next = NULL;
    *(list->last ? &list->last->next : &list->first) = work;
    list->last = work;
}

static struct work *take(struct list *list)
{
    struct work *work = list->first;
    if (work) {
        list->first = work->next;
        if (!list->first) {
            list->last = NULL;
        }
    }
    return work;
}

static void *work_on(void *own)
{
    struct pool *pool = own;
    pthread_mutex_lock(&pool->lock);
    for (;;) {
        struct work *work = pool->stopping ? NULL : take(&pool->waiting);
        if (work) {
            pthread_mutex_unlock(&pool->lock);
            work->run(work);
            pthread_mutex_lock(&pool->lock);
            if (!pool->finished.first) {
                const uint64_t one = 1;
                while (write(pool->fd, &one, sizeof one) < 0 && errno == EINTR) {
                }
            }
            append(&pool->finished, work);
        } else if (pool->stopping) {
            break;
        } else {
            pthread_cond_wait(&pool->changed, &pool->lock);
        }
    }
    pthread_mutex_unlock(&pool->lock);
    return NULL;
}

static void on_finished(evutil_socket_t fd, short what, void *own)
{
    struct pool *pool = own;
    uint64_t count;
    (void)what;
    if (read(fd, &count, sizeof count) < 0) {
        return;
    }
    pthread_mutex_lock(&pool->lock);
    struct list finished = pool->finished;
    pool->finished = (struct list){0};
    pthread_mutex_unlock(&pool->lock);
    for (struct work *work; (work = take(&finished));) {
        work->done(work);
    }
}

struct pool *pool_start(struct event_base *base, unsigned threads)
{
    struct pool *pool = calloc(1, sizeof *pool);
    if (!pool) {
        return NULL;
    }
    pthread_mutex_init(&pool->lock, NULL);
    pthread_cond_init(&pool->changed, NULL);
    pool->fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    pool->readable = pool->fd < 0 ? NULL : event_new(base, pool->fd, EV_READ | EV_PERSIST, on_finished, pool);
    if (!pool->readable || event_add(pool->readable, NULL)) {
        pool_stop(pool);
        return NULL;
    }
    sigset_t all;
    sigset_t before;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before); // signals are for the event loop's thread
    int failed = 0;
    while (!failed && pool->count < threads) {
        failed = pthread_create(&pool->threads[pool->count], NULL, work_on, pool);
        pool->count += !failed;
    }
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    if (failed) {
        pool_stop(pool);
        errno = failed;
        return NULL;
    }
    return pool;
}

void pool_add(struct pool *pool, struct work *work)
{
    pthread_mutex_lock(&pool->lock);
    append(&pool->waiting, work);
    pthread_cond_signal(&pool->changed);
    pthread_mutex_unlock(&pool->lock);
}

void pool_stop(struct pool *pool)
{
    pthread_mutex_lock(&pool->lock);
    pool->stopping = true;
    pthread_cond_broadcast(&pool->changed);
    pthread_mutex_unlock(&pool->lock);
    while (pool->count) {
        pthread_join(pool->threads[--pool->count], NULL);
    }
    if (pool->readable) {
        event_free(pool->readable);
    }
    if (pool->fd >= 0) {
        close(pool->fd);
    }
    pthread_cond_destroy(&pool->changed);
    pthread_mutex_destroy(&pool->lock);
    free(pool);
}
