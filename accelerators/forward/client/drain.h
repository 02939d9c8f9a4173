// SPDX-License-Identifier: Apache-2.0
// Waiting for a job's burst buffers.
#ifndef FORWARD_DRAIN_H
#define FORWARD_DRAIN_H

#include <stdbool.h>

#include "state.h"

// Wait until the job's data are in the file system: those of the burst buffers that this process wrote to, or of all.
void drain(struct state *state, bool all);

// Do so because this process becomes another program, which does not know that it must wait when it ends.
void drain_before_exec(void);

#endif
