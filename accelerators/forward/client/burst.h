// SPDX-License-Identifier: Apache-2.0
// Calls of a job that has a burst buffer, which acknowledges writes before the file system has them. The kernel's view
// of a file is then old, except its size. Therefore all reads and writes of files below the prefixes go through the
// burst buffer, and whatever cannot go there waits until the file's data are in the file system.
#ifndef FORWARD_BURST_H
#define FORWARD_BURST_H

#include "target.h"

// Return whether the job has a burst buffer.
static inline bool burst_is_on(void)
{
    return state_settings()->burst[0] != '\0';
}

// Move `bytes` bytes of a request at `start`, like `move` of forward.c. Returns the number of bytes, a negative error
// number, or BURST_NOT if the call must be done directly.
#define BURST_NOT INT64_MIN
int64_t burst_move(struct state *state, const struct request *request, const struct target *target, int64_t start,
                   size_t bytes, bool in_handler);

// Wait until the data of a descriptor's file are in the file system, because the kernel or another program is about to
// read or change it. Does nothing for other descriptors. Preserves errno.
void burst_settle(int fd);

// Do so if a call that is done directly may meet delayed data.
void burst_before_direct(const struct request *request);

// Do so, and forward nothing of this file any more, because this process maps it into memory.
void burst_settle_and_leave(int fd);

// Return whether calls on a file are done directly, because this process may have mapped it, or ends.
bool burst_is_direct(struct state *state, const struct target *target);

// Do so for the file with a path, if there is one.
void burst_settle_path(int directory, const char *path);

// Do so if this process may have written to the file through the burst buffer.
void burst_settle_own(int fd);

// Wait for what a rename must not overtake: the data of the file, or all data of the job if it is a directory, because
// a burst buffer that is started again finds its data's files by their paths.
void burst_before_rename(int directory, const char *path);

// Let the burst buffer know the new path of a file.
void burst_after_rename(int directory, const char *path);

#endif
