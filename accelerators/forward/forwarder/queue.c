// SPDX-License-Identifier: Apache-2.0
#include "queue.h"

void queue_append(struct queue *queue, struct scheduled *scheduled)
{
    scheduled->next = NULL;
    scheduled->previous = queue->last;
    *(queue->last ? &queue->last->next : &queue->first) = scheduled;
    queue->last = scheduled;
}

void queue_remove(struct queue *queue, struct scheduled *scheduled)
{
    *(scheduled->previous ? &scheduled->previous->next : &queue->first) = scheduled->next;
    *(scheduled->next ? &scheduled->next->previous : &queue->last) = scheduled->previous;
}

struct scheduled *queue_take(struct queue *queue)
{
    struct scheduled *scheduled = queue->first;
    if (scheduled) {
        queue_remove(queue, scheduled);
    }
    return scheduled;
}
