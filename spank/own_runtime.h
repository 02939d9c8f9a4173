// SPDX-License-Identifier: Apache-2.0
// What a program brings of its own that preloaded libraries may be in the way of, as matcher/identity/own_runtime.py
// has it, which says why: a test compares the two.
#ifndef REPRISE_OWN_RUNTIME_H
#define REPRISE_OWN_RUNTIME_H

#include "bounded_file.h"

#define RUNTIME_MAX 64 // bytes

// Put the path of a program's loader; "" where there is none, or it is the system's.
void own_runtime_loader(const struct bytes *path, char runtime[RUNTIME_MAX + 1]);

// Put what begins a sanitizer's name in a table of names; nothing where there is none.
void own_runtime_sanitizer(const struct bytes *names, char runtime[RUNTIME_MAX + 1]);

#endif
