// SPDX-License-Identifier: Apache-2.0
// Checks that a forwarder's file is the one that the program has open: the kernel of this node must see the bytes that
// the forwarder read or wrote. Comparing inodes does not suffice where nodes have disks that are copies of each other.
#ifndef FORWARD_CHECK_H
#define FORWARD_CHECK_H

#include "target.h"

// Return false if the kernel does not see the bytes that were moved between `request`'s buffers and `start` in the
// file. `buffer` has PAGE_BYTES of room.
bool check_bytes(const struct request *request, const struct target *target, int64_t start, size_t bytes,
                 uint8_t *buffer);

#endif
