// SPDX-License-Identifier: Apache-2.0
// Ends a replay that makes no progress, and reports where it is stuck.
#ifndef REPRISE_WATCHDOG_H
#define REPRISE_WATCHDOG_H

#include "player.h"

// Start a thread that ends this process with exit status 75 if an MPI call takes longer than about `seconds` seconds.
// Returns 0, or -1 if the thread cannot be started.
int watchdog_start(const struct player *p, int rank, double seconds);

#endif
