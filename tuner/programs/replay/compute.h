// SPDX-License-Identifier: Apache-2.0
// Replaces computation by waiting, so that many ranks can share few processors without disturbing each other.
#ifndef REPRISE_COMPUTE_H
#define REPRISE_COMPUTE_H

#include "player.h"

// Prepare this process for short sleeps. Call this once, before the first wait.
void compute_begin(void);

// Wait as long as the recorded gap of `gap_us` microseconds, times the player's factor. Gaps too short for a sleep are
// added up, and the excess of one sleep is deducted from the next.
void compute_wait(struct player *p, double gap_us);

#endif
