// SPDX-License-Identifier: Apache-2.0
// Variables that may be set for a job, regardless of what a reply contains.
#ifndef REPRISE_ALLOWLIST_H
#define REPRISE_ALLOWLIST_H

#include <stdbool.h>
#include <stddef.h>

// True if the `length` bytes at `name` (no NUL needed) are a name on the list of docs/reference/protocol.md.
bool allowlist_has(const char *name, size_t length);

// True if requests report that a variable with this name is set: one on that list, or one that is reported but never
// set.
bool allowlist_tells(const char *name, size_t length);

#endif
