// SPDX-License-Identifier: Apache-2.0
// First in, first out: requests go to diod in the order of their arrival.
#include <stdlib.h>

#include "scheduler.h"

struct fifo {
    struct scheduled *first;
    struct scheduled *last;
};

static void *create(void)
{
    return calloc(1, sizeof(struct fifo));
}

static void enqueue(void *own, struct scheduled *scheduled)
{
    struct fifo *fifo = own;
    scheduled->next = NULL;
    scheduled->previous = fifo->last;
    *(fifo->last ? &fifo->last->next : &fifo->first) = scheduled;
    fifo->last = scheduled;
}

static void withdraw(void *own, struct scheduled *scheduled)
{
    struct fifo *fifo = own;
    *(scheduled->previous ? &scheduled->previous->next : &fifo->first) = scheduled->next;
    *(scheduled->next ? &scheduled->next->previous : &fifo->last) = scheduled->previous;
}

static struct scheduled *next(void *own, uint64_t now_ns, uint64_t *wake_ns)
{
    struct fifo *fifo = own;
    struct scheduled *scheduled = fifo->first;
    (void)now_ns;
    (void)wake_ns;
    if (scheduled) {
        withdraw(fifo, scheduled);
    }
    return scheduled;
}

const struct scheduler_policy fifo_policy = {
    .name = "fifo",
    .create = create,
    .destroy = free,
    .enqueue = enqueue,
    .next = next,
    .withdraw = withdraw,
};
