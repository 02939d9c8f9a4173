// SPDX-License-Identifier: Apache-2.0
// The order in which reads and writes go to diod. A policy is a table of functions, so that a new one is one file.
#ifndef FORWARDER_SCHEDULER_H
#define FORWARDER_SCHEDULER_H

#include <event2/event.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "layout.h"
#include "load.h"

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
    struct scheduled *child;
    struct scheduled *older; // links for the policy's use too
    struct scheduled *newer;
    unsigned queue; // the same
    enum { SCHEDULED_NOT, SCHEDULED_WAITING, SCHEDULED_RUNNING } state;
};

// A moment, by both clocks. Forwarders whose system clocks are synchronized agree on the wall clock.
struct instant {
    uint64_t monotonic_ns;
    uint64_t wall_ns; // since 1970
};

// Options of policies. Each policy uses those that it needs.
struct scheduler_options {
    const struct layout *layout; // must exist as long as the scheduler; its map may change
    unsigned number;             // of this forwarder among those of the file system
    uint32_t window_us;          // microseconds; 0: no windows
};

struct scheduler_policy {
    const char *name;
    bool has_timer;                                           // `next` may ask to be called again at a time
    void *(*create)(const struct scheduler_options *options); // NULL without memory
    void (*destroy)(void *own);
    void (*enqueue)(void *own, struct scheduled *scheduled);
    // Return the request to dispatch now, no longer queued. If none may go yet, return NULL, and set `*wake_ns` to the
    // time of the monotonic clock at which to call again; leave it unchanged if only a further `enqueue` can make a
    // request ready.
    struct scheduled *(*next)(void *own, const struct instant *now, uint64_t *wake_ns);
    void (*withdraw)(void *own, struct scheduled *scheduled); // remove a queued request
    void (*set_window)(void *own, uint32_t window_us);        // NULL if the policy has no window
};

extern const struct scheduler_policy fifo_policy;  // in order of arrival
extern const struct scheduler_policy sjf_policy;   // small requests first
extern const struct scheduler_policy twins_policy; // one data server at a time

// Names of the policies, for messages.
#define SCHEDULER_POLICIES "fifo, sjf or twins"

// Return the policy of this name; NULL if there is none.
const struct scheduler_policy *scheduler_policy(const char *name);

struct scheduler {
    const struct scheduler_policy *policy;
    void *own;
    struct event *timer; // NULL if the policy needs none
    int timer_fd;
    uint64_t armed_ns;  // time at which the timer calls; 0: never
    uint32_t window_us; // WINDOW_NONE if the policy has no windows
    unsigned workers;   // requests at diod at a time
    unsigned running;
    unsigned waiting;
    struct load load; // since the window was changed, or since somebody asked
};

// Start with a policy. Return 0; -1 without memory or descriptors.
int scheduler_start(struct scheduler *scheduler, struct event_base *base, const struct scheduler_policy *policy,
                    const struct scheduler_options *options, unsigned workers);
void scheduler_stop(struct scheduler *scheduler);

// Queue a request, and dispatch what may go now.
void scheduler_add(struct scheduler *scheduler, struct scheduled *scheduled);

// End a request's service in any state: it was answered, or nobody waits for it any more.
void scheduler_remove(struct scheduler *scheduler, struct scheduled *scheduled);

// Change the length of windows: 0, with which requests go in order of arrival, or WINDOW_US_MIN to WINDOW_US_MAX.
// Return 0; -1 if the policy has no windows.
int scheduler_set_window(struct scheduler *scheduler, uint32_t window_us);

// Return the monotonic clock in nanoseconds.
uint64_t scheduler_now(void);

// Return the wall clock in nanoseconds since 1970.
uint64_t scheduler_wall(void);

#endif
