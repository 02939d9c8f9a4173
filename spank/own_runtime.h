// SPDX-License-Identifier: Apache-2.0
// Recognizes a program's own loader or sanitizer, which preloaded libraries may conflict with.
// matcher/identity/own_runtime.py has the same lists and the reasons for them; a test compares the lists.
#ifndef REPRISE_OWN_RUNTIME_H
#define REPRISE_OWN_RUNTIME_H

#include "bounded_file.h"

#define RUNTIME_MAX 64 // maximum number of bytes of `runtime`

// Write the path of a program's loader to `runtime`; write an empty string if `path` is empty, or is the system's
// loader.
void own_runtime_loader(const struct bytes *path, char runtime[RUNTIME_MAX + 1]);

// Write the name of the sanitizer that occurs in a table of names to `runtime`; leave `runtime` unchanged if none
// occurs.
void own_runtime_sanitizer(const struct bytes *names, char runtime[RUNTIME_MAX + 1]);

#endif
