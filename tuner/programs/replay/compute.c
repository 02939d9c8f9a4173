// SPDX-License-Identifier: Apache-2.0
#include "compute.h"

#include <errno.h>
#include <sched.h>
#include <sys/prctl.h>
#include <time.h>

// Time in seconds by which a sleep may end late on an idle machine. Sleeps are therefore shortened by this time. The
// rest of the gap is filled with calls of sched_yield, which leave the processor to other processes.
static const double late_s = 60e-6;
// Shortest wait, in seconds. A shorter gap between two calls is added to the next gap.
static const double least_s = 5e-6;
// Maximum time, in seconds, that is deducted from later gaps if a sleep ended too late. If another process had the
// processor for longer, the rest is not deducted.
static const double credit_s = 2e-3;

static double now(void)
{
    struct timespec time;

    clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec + 1e-9 * (double)time.tv_nsec;
}

void compute_begin(void)
{
    prctl(PR_SET_TIMERSLACK, 1UL, 0UL, 0UL, 0UL);
}

void compute_wait(struct player *p, double gap_us)
{
    p->debt_s += 1e-6 * gap_us * p->compute;
    if (p->debt_s < least_s)
        return;
    double begun = now();
    double target = begun + p->debt_s;
    double asleep = target - late_s;
    if (asleep > begun) {
        struct timespec until = {.tv_sec = (time_t)asleep};
        until.tv_nsec = (long)(1e9 * (asleep - (double)until.tv_sec));
        while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &until, NULL) == EINTR)
            ;
    }
    double end;
    while ((end = now()) < target)
        sched_yield();
    p->debt_s = end - target > credit_s ? -credit_s : target - end;
    p->tally.seconds[MIX_COMPUTE] += end - begun;
    p->tally.calls[MIX_COMPUTE]++;
}
