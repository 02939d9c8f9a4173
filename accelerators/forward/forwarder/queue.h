// SPDX-License-Identifier: Apache-2.0
// A queue of requests, in order of arrival.
#ifndef FORWARDER_QUEUE_H
#define FORWARDER_QUEUE_H

#include "scheduler.h"

struct queue {
    struct scheduled *first;
    struct scheduled *last;
};

// Add a request at the end.
void queue_append(struct queue *queue, struct scheduled *scheduled);

// Take a request out, wherever it is.
void queue_remove(struct queue *queue, struct scheduled *scheduled);

// Take the first request out and return it; NULL if the queue is empty.
struct scheduled *queue_take(struct queue *queue);

#endif
