// SPDX-License-Identifier: Apache-2.0
// What a step's programs need where one of our libraries is loaded into them.
#ifndef REPRISE_LOADING_H
#define REPRISE_LOADING_H

#include <slurm/spank.h>

// Let programs with AddressSanitizer start: they end where a library comes before their sanitizer's, unless an option
// says otherwise. Returns 0, or -1 where it could not be set.
int loading_allow_order(spank_t spank, char *const *environment);

#endif
