// SPDX-License-Identifier: Apache-2.0
// Closes files on forwarders when the program closes them, and makes forwarders write files to their disks when the
// program asks for it.
#ifndef FORWARD_SYNC_H
#define FORWARD_SYNC_H

#include <stdbool.h>

struct state;

// Make the forwarders that have written a file since its last fsync write it to their disks. Returns 0, or an error
// number if data may have been lost with a forwarder's node. Preserves errno.
int sync_file(int fd, bool only_data);

// Do this for all files that are open on a forwarder. Errors are ignored.
void sync_all(void);

// Close a descriptor's file on the forwarders. Returns an error number if one has reported that data are lost.
int sync_close(struct state *state, int fd);

// Return the result of a call of the kernel's, which returned `direct`, and of the forwarders, which reported an error
// number or 0: the program gets either error.
int sync_result(int direct, int forwarded);

// Do what descriptors_forget does for a descriptor. Returns what sync_close returns.
int sync_forget(int fd);

#endif
