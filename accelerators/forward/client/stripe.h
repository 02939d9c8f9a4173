// SPDX-License-Identifier: Apache-2.0
// The bytes of a file that each burst buffer has.
#ifndef FORWARD_STRIPE_H
#define FORWARD_STRIPE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "link.h"

// Return the stripe of a file that a byte belongs to. The stripes of a file take turns among some of the forwarders, so
// that the bytes of large files are spread evenly, and each byte has one burst buffer.
uint64_t stripe_of(int64_t offset);

// Return where the part of a call ends that begins with byte `done` and belongs to one stripe.
size_t stripe_end(int64_t start, size_t bytes, size_t done);

// Return a link to the burst buffer of a stripe of a file with this hash, held by this thread. NULL if the map names no
// forwarder, if a signal handler would have to connect, or if it could not be reached until the deadline. A burst
// buffer that was killed may have data that are older than the call, so calls wait for its successor.
struct link *stripe_take(struct state *state, uint32_t hash, uint64_t stripe, bool in_handler, int64_t deadline_ns);

#endif
