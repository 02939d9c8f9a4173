// SPDX-License-Identifier: Apache-2.0
#include "scheduler.h"

#include <string.h>
#include <time.h>

static const struct scheduler_policy *const policies[] = {&fifo_policy};

const struct scheduler_policy *scheduler_policy(const char *name)
{
    for (size_t i = 0; i < sizeof policies / sizeof *policies; i++) {
        if (!strcmp(policies[i]->name, name)) {
            return policies[i];
        }
    }
    return NULL;
}

uint64_t scheduler_now(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000000U + (uint64_t)now.tv_nsec;
}

static void pump(struct scheduler *scheduler)
{
    while (scheduler->waiting && scheduler->running < scheduler->workers) {
        uint64_t wake_ns = 0;
        const uint64_t now_ns = scheduler_now();
        struct scheduled *scheduled = scheduler->policy->next(scheduler->own, now_ns, &wake_ns);
        if (!scheduled) {
            if (wake_ns) {
                const uint64_t wait_ns = wake_ns > now_ns ? wake_ns - now_ns : 0;
                const struct timeval wait = {.tv_sec = (time_t)(wait_ns / 1000000000U),
                                             .tv_usec = (suseconds_t)(wait_ns % 1000000000U / 1000)};
                event_add(scheduler->timer, &wait);
            }
            return;
        }
        scheduler->waiting--;
        scheduler->running++;
        scheduled->state = SCHEDULED_RUNNING;
        scheduled->dispatch(scheduled);
    }
}

static void on_timer(evutil_socket_t fd, short what, void *own)
{
    (void)fd;
    (void)what;
    pump(own);
}

int scheduler_start(struct scheduler *scheduler, struct event_base *base, const struct scheduler_policy *policy,
                    unsigned workers)
{
    *scheduler = (struct scheduler){.policy = policy, .own = policy->create(), .workers = workers};
    scheduler->timer = evtimer_new(base, on_timer, scheduler);
    return scheduler->own && scheduler->timer ? 0 : -1;
}

void scheduler_stop(struct scheduler *scheduler)
{
    if (scheduler->timer) {
        event_free(scheduler->timer);
    }
    if (scheduler->own) {
        scheduler->policy->destroy(scheduler->own);
    }
    *scheduler = (struct scheduler){0};
}

void scheduler_add(struct scheduler *scheduler, struct scheduled *scheduled)
{
    scheduled->state = SCHEDULED_WAITING;
    scheduler->waiting++;
    scheduler->policy->enqueue(scheduler->own, scheduled);
    pump(scheduler);
}

void scheduler_remove(struct scheduler *scheduler, struct scheduled *scheduled)
{
    if (scheduled->state == SCHEDULED_WAITING) {
        scheduler->policy->withdraw(scheduler->own, scheduled);
        scheduler->waiting--;
    } else if (scheduled->state == SCHEDULED_RUNNING) {
        scheduler->running--;
    }
    scheduled->state = SCHEDULED_NOT;
    pump(scheduler);
}
