// SPDX-License-Identifier: Apache-2.0
// The loader or sanitizer of a program that preloaded libraries may conflict with. matcher/identity/own_runtime.py has
// the same lists and the reasons for them; a test compares the lists.
#ifndef REPRISE_OWN_RUNTIME_H
#define REPRISE_OWN_RUNTIME_H

#include "bounded_file.h"

#define RUNTIME_MAX 64 // bytes

// Write the path of a program's loader, or an empty string if it has none or the system's.
void own_runtime_loader(const struct bytes *path, char runtime[RUNTIME_MAX + 1]);

// Write the name of the sanitizer that a table of names contains; leave `runtime` unchanged if there is none.
void own_runtime_sanitizer(const struct bytes *names, char runtime[RUNTIME_MAX + 1]);

#endif
