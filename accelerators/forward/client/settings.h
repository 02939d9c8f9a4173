// SPDX-License-Identifier: Apache-2.0
// Reads the variables that configure the library.
#ifndef FORWARD_SETTINGS_H
#define FORWARD_SETTINGS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "../nine.h"
#include "limits.h"
#include "variables.h"

struct prefix {
    char path[PATH_BYTES]; // absolute, without a slash at its end
    size_t length;
};

struct settings {
    bool enabled; // a map and at least one prefix are set
    bool munge;   // munge credentials prove to forwarders who the user is
    char map[PATH_BYTES];
    struct prefix prefixes[PREFIXES_MAX];
    int prefix_count;
    int64_t least_bytes; // smallest request that is forwarded
    int64_t read_ns;     // longest wait for a connection, and for data that a forwarder reads,
    int64_t write_ns;    // and for the answer to a write
    int64_t check_ns;    // time between two looks at the map
    int64_t owner;       // user id that may own the map, besides root and the user; -1: none
    uint32_t node;       // number of this node within the job
    char job[JOB_BYTES]; // name of the job at forwarders; "" outside of jobs
    size_t job_length;
    char burst[BURST_BYTES]; // version with which to ask for a burst buffer (see nine.h); "": none
    bool burst_keeps;        // a burst buffer that is killed loses no data
    char report[PATH_BYTES];
};

// Read all variables. The default replaces an invalid value; if REPRISE_FORWARD_REPORT is set, a message names the
// variable. `host` is this node's name, which gives the node's number if no variable does.
void settings_read(struct settings *settings, variables_lookup *lookup, variables_complain *complain, const char *host);

#endif
