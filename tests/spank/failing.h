// SPDX-License-Identifier: Apache-2.0
// Makes calls fail (see failing.c) while `failing_now` is set.
#ifndef REPRISE_FAILING_H
#define REPRISE_FAILING_H

#include <stdbool.h>
#include <stdio.h>

extern bool failing_now;

// Returns the number of calls so far that could have been made to fail.
long failing_count(void);

#endif
