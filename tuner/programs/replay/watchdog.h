// SPDX-License-Identifier: Apache-2.0
// End a replay that makes no progress, and report where it is stuck.
#ifndef REPRISE_WATCHDOG_H
#define REPRISE_WATCHDOG_H

#include "player.h"

// From here on, end this process with exit status 75 when one MPI call takes `seconds`. Returns 0 or -1.
int watchdog_start(const struct player *p, int rank, double seconds);

#endif
