// SPDX-License-Identifier: Apache-2.0
// First in, first out: requests go to diod in the order of their arrival.
#include <stdlib.h>

#include "queue.h"

static void *create(const struct scheduler_options *options)
{
    (void)options;
    return calloc(1, sizeof(struct queue));
}

static void enqueue(void *own, struct scheduled *scheduled)
{
    queue_append(own, scheduled);
}

static void withdraw(void *own, struct scheduled *scheduled)
{
    queue_remove(own, scheduled);
}

static struct scheduled *next(void *own, const struct instant *now, uint64_t *wake_ns)
{
    (void)now;
    (void)wake_ns;
    return queue_take(own);
}

const struct scheduler_policy fifo_policy = {
    .name = "fifo",
    .create = create,
    .destroy = free,
    .enqueue = enqueue,
    .next = next,
    .withdraw = withdraw,
};
