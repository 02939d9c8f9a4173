// SPDX-License-Identifier: Apache-2.0
// Conditions for programs of a step that load one of our libraries.
#ifndef REPRISE_LOADING_H
#define REPRISE_LOADING_H

#include <slurm/spank.h>

// Let programs with AddressSanitizer start: they exit if another library is loaded before the sanitizer's, unless an
// option allows it. Returns 0, or -1 if the option could not be set.
int loading_allow_order(spank_t spank, char *const *environment);

#endif
