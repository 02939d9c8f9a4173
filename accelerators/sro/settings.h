// SPDX-License-Identifier: Apache-2.0
// Reads the variables that configure the library.
#ifndef SRO_SETTINGS_H
#define SRO_SETTINGS_H

#include <stdbool.h>
#include <stdint.h>

#include "limits.h"
#include "variables.h"

struct settings {
    bool disabled; // SRO_DISABLE is set to anything but 0
    int64_t bin_bytes;
    int64_t threshold;
    int64_t zone_bytes;
    int64_t sequence;
    int64_t piece_bytes;     // unit of loading; a bin, or a zone if zones are smaller
    int64_t part_bytes;      // size of a part; a piece has at most PARTS_MAX parts
    char report[PATH_BYTES]; // "" if no report is requested
};

// Read all variables. The default replaces an invalid value; if SRO_REPORT is set, a message names the variable.
void settings_read(struct settings *settings, variables_lookup *lookup, variables_complain *complain);

#endif
