// SPDX-License-Identifier: Apache-2.0
// Requests of the forwarding explorer: at which offsets each client reads or writes. Pure functions, without MPI.
#ifndef REPRISE_FORGE_REQUESTS_H
#define REPRISE_FORGE_REQUESTS_H

#include <stdint.h>

enum forge_layout {
    FORGE_SHARED_CONTIGUOUS, // one file; each client has one region of it
    FORGE_SHARED_STRIDED,    // one file; clients take turns, request by request
    FORGE_INDIVIDUAL,        // one file for each client
};

// The requests of all clients to one file, or to one file for each of them. All sizes are in bytes.
struct forge_pattern {
    enum forge_layout layout;
    uint32_t clients;
    uint64_t size;  // of a request
    uint64_t count; // requests of each client
};

// Divide `total` bytes into requests of `size` bytes, equally many for each client; a remainder is left out. Returns 0,
// or -1 if that is no request at all, if there are no clients, or if an offset would exceed INT64_MAX, the largest that
// the system calls take.
int forge_pattern_set(struct forge_pattern *pattern, enum forge_layout layout, uint32_t clients, uint64_t total,
                      uint64_t size);

// Return the offset of a client's request in its file. Clients and requests are numbered from 0.
uint64_t forge_offset(const struct forge_pattern *pattern, uint32_t client, uint64_t request);

// Return the time in seconds that a client waits before a request: half to one and a half of the mean, different for
// each client and request, so that clients do not move in step.
double forge_pause(double mean_s, uint32_t client, uint64_t request);

// Return the largest number of requests that a client with such pauses makes before a stone wall; UINT64_MAX if there
// is no stone wall or no pause.
uint64_t forge_most_requests(double stone_wall_s, double mean_pause_s);

#endif
