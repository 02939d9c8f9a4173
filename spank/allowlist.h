// SPDX-License-Identifier: Apache-2.0
// The list of variables that the plugin may set for a job. A reply cannot extend this list.
#ifndef REPRISE_ALLOWLIST_H
#define REPRISE_ALLOWLIST_H

#include <stdbool.h>
#include <stddef.h>

// True if the `length` bytes at `name` (no NUL needed) are the name of a variable that the plugin may set, according to
// the list in docs/reference/variables.md.
bool allowlist_has(const char *name, size_t length);

// True if the plugin may set an allowed variable to `value`. If the variable names a library, the value must not be a
// path.
bool allowlist_takes(const char *name, size_t length, const char *value);

// True if a request reports that a variable with this name is set. Requests report the variables that the plugin may
// set, and other variables that may conflict with a component.
bool allowlist_tells(const char *name, size_t length);

// Return the version of the list, at least 1. A request states it, so that the matcher sends no variable that only a
// newer version contains.
int allowlist_version(void);

#endif
