// SPDX-License-Identifier: Apache-2.0
// Finds the forwarder of this process in the map, and a connection to it.
#ifndef FORWARD_ROUTE_H
#define FORWARD_ROUTE_H

#include "link.h"

// Return a link to the forwarder that the map gives to this node, held by this thread; NULL if there is none, if the
// forwarder failed a short time ago or if all links are busy. Looks at the map if it was not looked at for a while.
// `in_handler` says that the thread may be in a signal handler.
struct link *route_take(struct state *state, bool in_handler);

// Copy the address of the forwarder that has a stripe of a file with this hash, whatever the node. Returns how many
// addresses the map has.
uint32_t route_of(struct state *state, uint32_t hash, uint64_t stripe, char address[ADDRESS_BYTES]);

// Return the place of this forwarder in a map with `count` > 0 addresses.
uint32_t route_number(uint32_t hash, uint64_t stripe, uint32_t count);

// Return a link to a certain forwarder, whatever the map says. Returns NULL, and the reason in `result`, on failure. A
// connection must be made until the deadline.
struct link *route_take_to(struct state *state, const char *address, bool in_handler, int64_t deadline_ns,
                           enum link_result *result);

// Return whether a forwarder failed a short time ago.
bool route_avoids(struct state *state, const char *address);

// Let go of a link after its use. LINK_OK says that it moved data. Unless `result` is LINK_OK or LINK_REFUSED, the
// connection is ended and its forwarder is avoided for a while.
void route_let_go(struct state *state, struct link *link, enum link_result result);

#endif
