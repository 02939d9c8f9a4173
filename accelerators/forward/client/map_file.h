// SPDX-License-Identifier: Apache-2.0
// Reads the map's file when it has changed.
#ifndef FORWARD_MAP_FILE_H
#define FORWARD_MAP_FILE_H

#include "state.h"

// Update the route's address if the map has changed, unless the map was looked at a short time ago. A map that is
// missing, bad, too large or not to be trusted means that nothing is forwarded. The route's lock is held.
void map_file_look(struct route *route, const struct settings *settings);

#endif
