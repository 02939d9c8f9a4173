// SPDX-License-Identifier: Apache-2.0
// Order of a fid's requests: some must wait for earlier ones.
#ifndef FORWARDER_ORDER_H
#define FORWARDER_ORDER_H

#include "request.h"

// Return whether requests of this type are ordered at all.
bool order_applies(uint8_t type);

// Enter a request at the end of its fid's list, and count the earlier ones that it must wait for.
void order_enter(struct request *request);

// Take a request out of the list. Return the requests that became ready, linked by `released`.
struct request *order_leave(struct request *request);

#endif
