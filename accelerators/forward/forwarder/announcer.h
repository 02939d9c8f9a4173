// SPDX-License-Identifier: Apache-2.0
// Reports to the council once a second, and applies the window that it chooses (Bez 2020, section 4.1). If the council
// is away, the forwarder works as before.
#ifndef FORWARDER_ANNOUNCER_H
#define FORWARDER_ANNOUNCER_H

#include "forwarder.h"

// Begin to report to the council in the settings. Return 0; -1 with the cause in `*why`.
int announcer_start(struct forwarder *forwarder, const char **why);

#endif
