// SPDX-License-Identifier: Apache-2.0
// Server time windows (Bez 2020, section 3.4): a queue for each data server of the file system. During a window, only
// requests of one queue go to diod, in order of arrival; then it is the next queue's turn. Requests of other queues
// wait, even if nothing else is to do. Forwarders serve different data servers at a time, because each begins at
// another queue.
//
// The wall clock gives the queue whose turn it is, so that forwarders with synchronized clocks need no messages to stay
// apart, and one that starts later fits in. The first window therefore begins with the first request, and ends with the
// windows of the other forwarders.
//
// With a window of 0, requests go in the order of their arrival, as with fifo. A second list keeps this order, so that
// the window may change while requests wait, however many there are.
#include <stdlib.h>

#include "queue.h"

#define NS_PER_US 1000U

struct twins {
    const struct layout *layout;
    unsigned number;
    unsigned servers;
    uint64_t window_ns;
    struct scheduled *oldest; // all requests, in order of arrival
    struct scheduled *newest;
    struct queue queues[]; // one for each data server
};

static void *create(const struct scheduler_options *options)
{
    const unsigned servers = options->layout->servers;
    struct twins *twins = calloc(1, sizeof *twins + servers * sizeof twins->queues[0]);
    if (twins) {
        twins->layout = options->layout;
        twins->number = options->number;
        twins->servers = servers;
        twins->window_ns = (uint64_t)options->window_us * NS_PER_US;
    }
    return twins;
}

// Queues are in another order in each forwarder, which keeps forwarders apart.
static void enqueue(void *own, struct scheduled *scheduled)
{
    struct twins *twins = own;
    scheduled->queue =
        (layout_server(twins->layout, scheduled->file, scheduled->offset) + twins->number) % twins->servers;
    queue_append(&twins->queues[scheduled->queue], scheduled);
    scheduled->newer = NULL;
    scheduled->older = twins->newest;
    *(twins->newest ? &twins->newest->newer : &twins->oldest) = scheduled;
    twins->newest = scheduled;
}

static void withdraw(void *own, struct scheduled *scheduled)
{
    struct twins *twins = own;
    queue_remove(&twins->queues[scheduled->queue], scheduled);
    *(scheduled->older ? &scheduled->older->newer : &twins->oldest) = scheduled->newer;
    *(scheduled->newer ? &scheduled->newer->older : &twins->newest) = scheduled->older;
}

static struct scheduled *next(void *own, const struct instant *now, uint64_t *wake_ns)
{
    struct twins *twins = own;
    const unsigned servers = twins->servers;
    const uint64_t current = twins->window_ns ? now->wall_ns / twins->window_ns % servers : 0;
    struct scheduled *scheduled = twins->window_ns ? twins->queues[current].first : twins->oldest;
    if (scheduled) {
        withdraw(twins, scheduled);
    }
    if (scheduled || !twins->window_ns) {
        return scheduled;
    }
    // Nothing happens before the window of the next queue that has requests.
    for (unsigned i = 1; i < servers; i++) {
        if (twins->queues[(current + i) % servers].first) {
            *wake_ns = now->monotonic_ns + i * twins->window_ns - now->wall_ns % twins->window_ns;
            break;
        }
    }
    return NULL;
}

static void set_window(void *own, uint32_t window_us)
{
    struct twins *twins = own;
    twins->window_ns = (uint64_t)window_us * NS_PER_US;
}

const struct scheduler_policy twins_policy = {
    .name = "twins",
    .has_timer = true,
    .create = create,
    .destroy = free,
    .enqueue = enqueue,
    .next = next,
    .withdraw = withdraw,
    .set_window = set_window,
};
