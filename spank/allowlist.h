// SPDX-License-Identifier: Apache-2.0
// Which variables may be given to a job, whatever a reply says.
#ifndef REPRISE_ALLOWLIST_H
#define REPRISE_ALLOWLIST_H

#include <stdbool.h>
#include <stddef.h>

// True if the `length` bytes at `name` (no NUL needed) are a name on the list of docs/protocol.md.
bool allowlist_has(const char *name, size_t length);

// True if the daemon is told that a variable of this name is set: one of that list, or one that is never given.
bool allowlist_tells(const char *name, size_t length);

#endif
