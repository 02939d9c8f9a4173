// SPDX-License-Identifier: Apache-2.0
// The rule by which a site's file system places data on its data servers.
#ifndef FORWARDER_LAYOUT_H
#define FORWARDER_LAYOUT_H

#include <stdint.h>

#include "layout_map.h"

struct layout {
    unsigned servers;       // data servers of the file system, at least 1
    uint64_t stripe_bytes;  // 0: each file is on one server
    const char *map_path;   // NULL: there is no map
    struct layout_map *map; // read from it; files that it does not have follow the rule
};

// Read a rule, "file", "stripe:BYTES" or "map:FILE". The path of the map points into `rule`; the map is not read yet.
// Return 0; -1 if there is no such rule.
int layout_read(struct layout *layout, const char *rule);

// Return the number of the data server that holds a byte of a file, below `layout->servers`. `file` is the inode
// number.
unsigned layout_server(const struct layout *layout, uint64_t file, uint64_t offset);

#endif
