// SPDX-License-Identifier: Apache-2.0
// Computation as waiting, so that many ranks can share few processors without disturbing each other.
#ifndef REPRISE_COMPUTE_H
#define REPRISE_COMPUTE_H

#include "player.h"

// Call it once, before the first wait.
void compute_begin(void);

// Wait as long as the recorded gap. Gaps too short for a sleep are added up, and the excess of one sleep is deducted
// from the next.
void compute_wait(struct player *p, double gap_us);

#endif
