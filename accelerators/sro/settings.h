// SPDX-License-Identifier: Apache-2.0
// The variables that say what the library does.
#ifndef SRO_SETTINGS_H
#define SRO_SETTINGS_H

#include <stdbool.h>
#include <stdint.h>

#include "limits.h"

struct settings {
    bool disabled; // SRO_DISABLE is anything but 0
    int64_t bin_bytes;
    int64_t threshold;
    int64_t zone_bytes;
    int64_t sequence;
    int64_t piece_bytes;     // what is remembered as loaded or not: a bin, or a zone where that is smaller
    int64_t part_bytes;      // of a piece, PARTS_MAX at most
    char report[PATH_BYTES]; // "" where none is wanted
};

// Called with one line, without its end.
typedef void settings_complain(const char *line);

typedef const char *settings_lookup(const char *name);

// Read all variables. A value that cannot be is replaced by the default and complained about, if a report is wanted.
void settings_read(struct settings *settings, settings_lookup *lookup, settings_complain *complain);

#endif
