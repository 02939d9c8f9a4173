// SPDX-License-Identifier: Apache-2.0
// The places of burst buffers: each has a directory below `bursts`, with its socket and its lock, and one below
// `burst-flash`, if there is flash. They say which burst buffers there are.
#ifndef FORWARDER_INSTANCE_PLACES_H
#define FORWARDER_INSTANCE_PLACES_H

#include "burst.h"

// Store the path of a burst buffer's directory, or of a file in it; NULL: none. Return 0; -1 if it is too long.
int place_path(char *to, size_t room, const char *directory, const char *name, const char *file);

// Return whether a burst buffer has a directory, perhaps since a moment ago.
bool place_exists(const struct settings *settings, const char *name);

// Return whether a burst buffer has left data on flash.
bool place_has_data(const struct settings *settings, const char *name);

// Make the directories of a burst buffer, which belong to its user. Return 0; -1 with errno.
int places_make(const struct settings *settings, const struct burst *burst);

// Remove the directories of instances that have ended, unless they left data.
void places_sweep(const struct settings *settings);

// Return whether a user may have a further burst buffer: more places must be free than the user has. So a user who
// invents numbers of jobs, which only Slurm could refute, gets at most half of the places, and never the last one if
// others could have it.
bool places_left_for(const struct settings *settings, uint32_t user);

#endif
