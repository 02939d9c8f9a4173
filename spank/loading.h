// SPDX-License-Identifier: Apache-2.0
// Lets programs built with AddressSanitizer start although one of Reprise's libraries is preloaded into them.
#ifndef REPRISE_LOADING_H
#define REPRISE_LOADING_H

#include <slurm/spank.h>

// Let programs with AddressSanitizer start: they exit if another library is loaded before the sanitizer's, unless an
// option allows it. Returns 0, or -1 if the option could not be set.
int loading_allow_order(spank_t spank, char *const *environment);

#endif
