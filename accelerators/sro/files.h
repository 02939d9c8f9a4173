// SPDX-License-Identifier: Apache-2.0
// Maps descriptors to files, and decides which files to watch.
#ifndef SRO_FILES_H
#define SRO_FILES_H

#include "state.h"

// Look up the file of the descriptor and store it in its `watched`. Keeps errno.
uint32_t files_look_up(struct state *state, int fd);

// Forget these descriptors, because they are about to be closed or reused. Returns when no thread uses them. Keeps
// errno.
void files_forget(int first, int last);

// End the threads permanently, because the program is about to make a call that a process with threads may not make.
void files_stop(void);

// The counters of all files together.
struct counters files_counters(struct state *state);

#endif
