// SPDX-License-Identifier: Apache-2.0
// Maps descriptors to files, and decides which files to watch.
#ifndef SRO_FILES_H
#define SRO_FILES_H

#include "state.h"

// Look up the file of a descriptor, and store and return the new value of the descriptor's `watched`. Preserves errno.
uint32_t files_look_up(struct state *state, int fd);

// Forget the descriptors from `first` to `last`, because they are about to be closed or reused. Returns when none of
// the library's threads uses them, or after CLOSE_WAIT_NS. Preserves errno.
void files_forget(int first, int last);

// End the library's threads permanently, because the program is about to make a call that fails in a process with
// several threads.
void files_stop(void);

// Return the sums of the counters of all files.
struct counters files_counters(struct state *state);

#endif
