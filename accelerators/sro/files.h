// SPDX-License-Identifier: Apache-2.0
// Maps descriptors to files, and decides which files to watch.
#ifndef SRO_FILES_H
#define SRO_FILES_H

#include "state.h"

// Look up the file of a descriptor, and store and return the new value of the descriptor's `watched`. Preserves errno.
uint32_t files_look_up(struct state *state, int fd);

// End the library's threads permanently, because the program is about to make a call that fails in a process with
// several threads.
void files_stop(void);

// Return the sums of the counters of all files.
struct counters files_counters(struct state *state);

#endif
