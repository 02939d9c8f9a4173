// SPDX-License-Identifier: Apache-2.0
#include "watchdog.h"

#include <pthread.h>
#include <stdio.h>
#include <time.h>
#include <unistd.h>

enum { EXIT_STUCK = 75, LOOKS = 10 }; // LOOKS is the number of checks within the permitted time

static const struct player *watched;
static int watched_rank;
static double allowed_s;

static void *watch(void *unused)
{
    double pause_s = allowed_s / LOOKS;
    struct timespec pause = {.tv_sec = (time_t)pause_s, .tv_nsec = (long)(1e9 * (pause_s - (double)(time_t)pause_s))};
    long last = -1;
    int seen = 0;

    for (;;) {
        nanosleep(&pause, NULL);
        long entered = atomic_load(&watched->entered);
        seen = entered != atomic_load(&watched->left) && entered == last ? seen + 1 : 0;
        last = entered;
        if (seen < LOOKS)
            continue;
        const struct mix_step *s = &watched->mix->steps[atomic_load(&watched->step)];
        fprintf(stderr,
                "reprise-replay: rank %d has been stuck for %g s in call %ld, %s at line %ld of the mix: another "
                "rank has died, the settings under test hang, or the timeout (--timeout) is too short for this "
                "mix\n",
                watched_rank, allowed_s, entered, mix_kind_name(s->kind), s->line);
        _exit(EXIT_STUCK);
    }
    return unused;
}

int watchdog_start(const struct player *p, int rank, double seconds)
{
    pthread_t thread;

    watched = p;
    watched_rank = rank;
    allowed_s = seconds;
    return pthread_create(&thread, NULL, watch, NULL) == 0 && pthread_detach(thread) == 0 ? 0 : -1;
}
