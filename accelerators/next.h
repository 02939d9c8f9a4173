// SPDX-License-Identifier: Apache-2.0
// The functions that the wrappers of a preloaded library call: those of the next library in the search order that
// defines them, usually libc. Each preloaded library lists the functions that it wraps in its own wrapped.h.
#ifndef NEXT_H
#define NEXT_H

#include "wrapped.h"

#define NEXT_NUMBER(name) NEXT_##name,
enum next_function { FUNCTIONS(NEXT_NUMBER) NEXT_COUNT };

extern void *next_functions[NEXT_COUNT];

// Find the next definition of a function and cache it. Preserves errno.
void *next_find(enum next_function function);

// All functions are looked up when this library is loaded, but the constructor of another library may call a wrapper
// before that.
#define NEXT(name)                                                                                                     \
    ((__typeof__(&name))(next_functions[NEXT_##name] ? next_functions[NEXT_##name] : next_find(NEXT_##name)))

#define EXPORTED __attribute__((visibility("default")))

#endif
