// SPDX-License-Identifier: Apache-2.0
// Asking the daemon: a request out, a checked answer in, within the site's deadline.
#ifndef REPRISE_ASK_H
#define REPRISE_ASK_H

#include "client.h"
#include "decision.h"
#include "request.h"
#include "settings.h"

// Ask for a decision. An answer that is not as the protocol says is CLIENT_BROKEN. Unless
// CLIENT_OK, `decision` becomes "unreachable".
enum client_result ask_decision(const struct settings *settings, const struct submission *submission, enum mode mode,
                                const char *slurm_version, const struct job *job, struct decision *decision);

// Tell what became of a job; the reply's content does not matter.
enum client_result ask_to_note(const struct settings *settings, const struct outcome *outcome);

#endif
