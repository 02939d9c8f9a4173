// SPDX-License-Identifier: Apache-2.0
// Effects of requests and replies on a connection's fids.
#ifndef FORWARDER_EFFECTS_H
#define FORWARDER_EFFECTS_H

#include "request.h"

// Find a request's fids, create those that it creates, and replace their numbers by diod's.
// Return 0, or the error number for the client.
uint32_t effects_of_request(struct request *request, const struct wire_kind *kind);

// Apply a reply of diod. Return 0; -1 if the reply is malformed.
int effects_of_reply(struct request *request, const struct message *reply);

// Undo what a request prepared, because it was not executed.
void effects_undo(struct request *request);

#endif
