// SPDX-License-Identifier: Apache-2.0
// The data servers of single files, read from a file that an administrator makes of the file system's own records.
#ifndef FORWARDER_LAYOUT_MAP_H
#define FORWARDER_LAYOUT_MAP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct layout_map;

// Read lines "INODE STRIPE_BYTES SERVER ...", with numbers of servers below `servers` in the order of stripes. The last
// line about a file counts. Return the map; NULL with one line about the first error in `*error`.
struct layout_map *layout_map_read(const char *path, unsigned servers, char *error, size_t room);

// Free a map; NULL is allowed.
void layout_map_free(struct layout_map *map);

// Store the number of the data server that holds a byte of a file. Return false if the map does not have the file.
bool layout_map_find(const struct layout_map *map, uint64_t file, uint64_t offset, unsigned *server);

#endif
