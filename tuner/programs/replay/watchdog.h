// SPDX-License-Identifier: Apache-2.0
// Ends a replay that makes no progress, and says where it stands still.
#ifndef REPRISE_WATCHDOG_H
#define REPRISE_WATCHDOG_H

#include "player.h"

// From here on, end this process with exit status 75 once one call of MPI has taken `seconds`. Returns 0 or -1.
int watchdog_start(const struct player *p, int rank, double seconds);

#endif
