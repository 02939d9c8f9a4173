// SPDX-License-Identifier: Apache-2.0
// Lets calls fail (failing.c): those that are made while `failing_now` is set.
#ifndef REPRISE_FAILING_H
#define REPRISE_FAILING_H

#include <stdbool.h>
#include <stdio.h>

extern bool failing_now;

// How many calls could have failed so far.
long failing_count(void);

#endif
