// SPDX-License-Identifier: Apache-2.0
// Computation as waiting, so that many ranks share few processors without being in each other's way.
#ifndef REPRISE_COMPUTE_H
#define REPRISE_COMPUTE_H

#include "player.h"

// Call it once, before the first waiting.
void compute_begin(void);

// Wait as long as the recorded gap. Gaps too short to be slept are added up, and what one sleep took too long is taken
// off the next.
void compute_wait(struct player *p, double gap_us);

#endif
