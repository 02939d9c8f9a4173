// SPDX-License-Identifier: Apache-2.0
// Answers the daemon's request to identify the program of a job.
#ifndef REPRISE_IDENTIFY_H
#define REPRISE_IDENTIFY_H

#include "deadline.h"
#include "matcher.h"

// Read the program at `path` and send its identity to the daemon; send nothing if it cannot be read. Never runs as
// root. Reading is limited to IDENTIFY_MS, and the whole call to `deadline`.
void identify(const struct matcher *matcher, nanoseconds deadline, const char *decision, const char *path);

#endif
