// SPDX-License-Identifier: Apache-2.0
// Asking the daemon: a request out, a checked answer in, within a deadline.
#ifndef REPRISE_ASK_H
#define REPRISE_ASK_H

#include "client.h"
#include "decision.h"
#include "request.h"

// Ask for a decision. An answer that is not as the protocol says is CLIENT_BROKEN. Unless
// CLIENT_OK, `decision` becomes "unreachable".
enum client_result ask_decision(const struct matcher *matcher, nanoseconds deadline, const struct question *question,
                                struct decision *decision);

// Tell what became of a job; whether anyone hears it does not matter. Returns the path of the program that the daemon
// asks about, to be freed, or NULL.
char *ask_to_note(const struct matcher *matcher, nanoseconds deadline, const struct outcome *outcome);

// Send a request that is made already, and take it over; whether anyone hears it does not matter.
void ask_to_take(const struct matcher *matcher, nanoseconds deadline, char *request, size_t size);

#endif
