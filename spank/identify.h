// SPDX-License-Identifier: Apache-2.0
// Answering the daemon's question who a job's program is.
#ifndef REPRISE_IDENTIFY_H
#define REPRISE_IDENTIFY_H

#include "deadline.h"
#include "matcher.h"

// Read the program at `path` and tell the daemon who it is, or nothing: never as root, and within IDENTIFY_MS for the
// reading and `deadline` for all of it.
void identify(const struct matcher *matcher, nanoseconds deadline, const char *decision, const char *path);

#endif
