// SPDX-License-Identifier: Apache-2.0
// The library's work for one call of the program.
#ifndef FORWARD_FORWARD_H
#define FORWARD_FORWARD_H

#include "target.h"

#define FORWARD_NOT (-2) // nothing was done: the caller calls the next function

// Return whether forward_request may forward a call, as far as the descriptor shows.
bool forward_may(const struct request *request);

// Do a call of at least state_least_bytes bytes by way of a forwarder, and directly what the forwarder did not do.
// Returns what the call returns (with errno, if that is -1), or FORWARD_NOT. Preserves errno otherwise.
ssize_t forward_request(const struct request *request);

#endif
