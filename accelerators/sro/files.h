// SPDX-License-Identifier: Apache-2.0
// Which file a descriptor is, and whether it is worth watching.
#ifndef SRO_FILES_H
#define SRO_FILES_H

#include "state.h"

// What the descriptor is now, kept in its `watched`. Keeps errno.
uint32_t files_look_up(struct state *state, int fd);

// Nothing is known of these descriptors any more: they are about to be closed, or to be something else. Returns when no
// thread uses them. Keeps errno.
void files_forget(int first, int last);

// End the threads, for good: the program is about to do what is refused to a process of several.
void files_stop(void);

// What was counted of all files together.
struct counters files_counters(struct state *state);

#endif
