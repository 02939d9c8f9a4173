// SPDX-License-Identifier: Apache-2.0
// Replaces computation by waiting, so that many ranks can share a few processors without disturbing each other.
#ifndef REPRISE_COMPUTE_H
#define REPRISE_COMPUTE_H

#include "player.h"

// Prepare this process for short sleeps. Call this once, before the first wait.
void compute_begin(void);

// Wait for the recorded gap of `gap_us` microseconds, multiplied by the player's factor. Gaps that are too short for a
// wait are added up. If a wait takes too long, the excess is deducted from the next wait.
void compute_wait(struct player *p, double gap_us);

#endif
