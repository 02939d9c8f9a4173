// SPDX-License-Identifier: Apache-2.0
#include "scheduler.h"

#include <string.h>
#include <sys/timerfd.h>
#include <time.h>
#include <unistd.h>

#include "limits.h"

#define NS_PER_S 1000000000U
#define ARMED_SLACK_NS 1000U // a timer that calls this much too late is not set again, which would cost a system call

static const struct scheduler_policy *const policies[] = {&fifo_policy, &sjf_policy, &twins_policy};

const struct scheduler_policy *scheduler_policy(const char *name)
{
    for (size_t i = 0; i < sizeof policies / sizeof *policies; i++) {
        if (!strcmp(policies[i]->name, name)) {
            return policies[i];
        }
    }
    return NULL;
}

static uint64_t read_clock(clockid_t clock)
{
    struct timespec now;
    clock_gettime(clock, &now);
    return (uint64_t)now.tv_sec * NS_PER_S + (uint64_t)now.tv_nsec;
}

uint64_t scheduler_now(void)
{
    return read_clock(CLOCK_MONOTONIC);
}

uint64_t scheduler_wall(void)
{
    return read_clock(CLOCK_REALTIME);
}

// Have `pump` called at a time. The timer is a descriptor, since those of libevent are rounded up to milliseconds.
static void arm(struct scheduler *scheduler, uint64_t wake_ns)
{
    if (scheduler->armed_ns && scheduler->armed_ns <= wake_ns + ARMED_SLACK_NS) {
        return; // `pump` asks again if it is called too early
    }
    const struct itimerspec wake = {.it_value.tv_sec = (time_t)(wake_ns / NS_PER_S),
                                    .it_value.tv_nsec = (long)(wake_ns % NS_PER_S)};
    timerfd_settime(scheduler->timer_fd, TFD_TIMER_ABSTIME, &wake, NULL);
    scheduler->armed_ns = wake_ns;
}

static void pump(struct scheduler *scheduler)
{
    while (scheduler->waiting && scheduler->running < scheduler->workers) {
        uint64_t wake_ns = 0;
        const struct instant now = {.monotonic_ns = scheduler_now(), .wall_ns = scheduler_wall()};
        struct scheduled *scheduled = scheduler->policy->next(scheduler->own, &now, &wake_ns);
        if (!scheduled) {
            if (wake_ns && scheduler->timer) {
                arm(scheduler, wake_ns);
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
    struct scheduler *scheduler = own;
    uint64_t expirations;
    (void)what;
    if (read(fd, &expirations, sizeof expirations) == sizeof expirations) {
        scheduler->armed_ns = 0;
    }
    pump(scheduler);
}

static int start_timer(struct scheduler *scheduler, struct event_base *base)
{
    scheduler->timer_fd = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK);
    if (scheduler->timer_fd < 0) {
        return -1;
    }
    scheduler->timer = event_new(base, scheduler->timer_fd, EV_READ | EV_PERSIST, on_timer, scheduler);
    return scheduler->timer ? event_add(scheduler->timer, NULL) : -1;
}

int scheduler_start(struct scheduler *scheduler, struct event_base *base, const struct scheduler_policy *policy,
                    const struct scheduler_options *options, unsigned workers)
{
    *scheduler =
        (struct scheduler){.policy = policy, .own = policy->create(options), .timer_fd = -1, .workers = workers};
    scheduler->window_us = policy->set_window ? options->window_us : WINDOW_NONE;
    load_begin(&scheduler->load, scheduler_now());
    return scheduler->own && (!policy->has_timer || !start_timer(scheduler, base)) ? 0 : -1;
}

void scheduler_stop(struct scheduler *scheduler)
{
    if (scheduler->timer) {
        event_free(scheduler->timer);
    }
    if (scheduler->timer_fd >= 0) {
        close(scheduler->timer_fd);
    }
    if (scheduler->own) {
        scheduler->policy->destroy(scheduler->own);
    }
    *scheduler = (struct scheduler){.timer_fd = -1};
}

void scheduler_add(struct scheduler *scheduler, struct scheduled *scheduled)
{
    scheduled->state = SCHEDULED_WAITING;
    scheduler->waiting++;
    load_arrived(&scheduler->load, scheduled->bytes, scheduled->arrived_ns);
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
    if (scheduled->state != SCHEDULED_NOT) {
        const bool is_last = scheduler->load.requests == 1; // the time of others does not matter
        load_ended(&scheduler->load, scheduled->bytes, is_last ? scheduler_now() : 0);
    }
    scheduled->state = SCHEDULED_NOT;
    pump(scheduler);
}

int scheduler_set_window(struct scheduler *scheduler, uint32_t window_us)
{
    if (!scheduler->policy->set_window) {
        return -1;
    }
    if (window_us != scheduler->window_us) {
        load_begin(&scheduler->load, scheduler_now());
    }
    scheduler->policy->set_window(scheduler->own, window_us);
    scheduler->window_us = window_us;
    pump(scheduler);
    return 0;
}
