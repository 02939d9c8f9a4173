// SPDX-License-Identifier: Apache-2.0
// The order in which reads and writes go to diod. A policy is a table of functions, so that a new one is one file.
#ifndef FORWARDER_SCHEDULER_H
#define FORWARDER_SCHEDULER_H

#include <event2/event.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

// A read or write that waits for its turn. Whoever adds it fills in the fields, and owns the memory.
struct scheduled {
    uint64_t arrived_ns; // monotonic clock
    uint64_t file;       // the file's inode number
    uint64_t offset;     // bytes
    uint32_t bytes;
    bool is_write;
    const char *job;                               // name of the job; never NULL
    void (*dispatch)(struct scheduled *scheduled); // sends it to diod
    struct scheduled *next;                        // links for the policy's use
    struct scheduled *previous;
    enum { SCHEDULED_NOT, SCHEDULED_WAITING, SCHEDULED_RUNNING } state;
};

struct scheduler_policy {
    const char *name;
    void *(*create)(void); // NULL without memory
    void (*destroy)(void *own);
    void (*enqueue)(void *own, struct scheduled *scheduled);
    // Return the request to dispatch now, no longer queued. If none may go yet, return NULL, and set `*wake_ns` to the
    // time at which to call again; leave it unchanged if only a further `enqueue` can make a request ready.
    struct scheduled *(*next)(void *own, uint64_t now_ns, uint64_t *wake_ns);
    void (*withdraw)(void *own, struct scheduled *scheduled); // remove a queued request
};

extern const struct scheduler_policy fifo_policy; // in order of arrival

// Return the policy of this name; NULL if there is none.
const struct scheduler_policy *scheduler_policy(const char *name);

struct scheduler {
    const struct scheduler_policy *policy;
    void *own;
    struct event *timer;
    unsigned workers; // requests at diod at a time
    unsigned running;
    unsigned waiting;
};

int scheduler_start(struct scheduler *scheduler, struct event_base *base, const struct scheduler_policy *policy,
                    unsigned workers);
void scheduler_stop(struct scheduler *scheduler);

// Queue a request, and dispatch what may go now.
void scheduler_add(struct scheduler *scheduler, struct scheduled *scheduled);

// End a request's service in any state: it was answered, or nobody waits for it any more.
void scheduler_remove(struct scheduler *scheduler, struct scheduled *scheduled);

// Return the monotonic clock in nanoseconds.
uint64_t scheduler_now(void);

#endif
