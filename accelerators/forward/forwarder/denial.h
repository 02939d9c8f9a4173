// SPDX-License-Identifier: Apache-2.0
// Jobs that work without burst buffer. All processes of a job must see the same data: while one of them has a
// connection without burst buffer, no other one gets a burst buffer. Nothing is remembered beyond these connections, so
// that nobody can fill a memory with numbers of jobs.
#ifndef FORWARDER_DENIAL_H
#define FORWARDER_DENIAL_H

#include <stdbool.h>

struct denial; // of a connection

// Note that a connection of a job is served without burst buffer. Return the note; NULL without memory.
struct denial *denial_new(const char *name);

// Return whether there is such a connection.
bool denial_of(const char *name);

// Note that the connection has ended. NULL does nothing.
void denial_end(struct denial *denial);

#endif
