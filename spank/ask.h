// SPDX-License-Identifier: Apache-2.0
// Sends requests to the daemon and returns checked answers, within a deadline.
#ifndef REPRISE_ASK_H
#define REPRISE_ASK_H

#include "client.h"
#include "decision.h"
#include "request.h"

// Ask for a decision. Returns CLIENT_BROKEN if the answer violates the protocol. If the result is not CLIENT_OK, the
// verdict of `decision` is set to "unreachable".
enum client_result ask_decision(const struct matcher *matcher, nanoseconds deadline, const struct question *question,
                                struct decision *decision);

// Report the outcome of a job; a report that is lost does no harm. Returns the path of the program that the daemon asks
// the plugin to identify, or NULL if the daemon does not ask. The caller must free the path.
char *ask_to_note(const struct matcher *matcher, nanoseconds deadline, const struct outcome *outcome);

// Send a serialized request and free it; a request that is lost does no harm.
void ask_to_take(const struct matcher *matcher, nanoseconds deadline, char *request, size_t size);

#endif
