// SPDX-License-Identifier: Apache-2.0
// Bandwidth and load of reads and writes that pass the scheduler, since a moment.
#ifndef FORWARDER_LOAD_H
#define FORWARDER_LOAD_H

#include <stdbool.h>
#include <stdint.h>

struct load {
    uint64_t begin_ns;      // monotonic clock
    uint64_t idle_since_ns; // time at which the last request ended; valid if there is none
    uint64_t idle_ns;       // time without requests, in gaps of IDLE_GAP_NS or more that have ended
    uint64_t served;        // bytes of answered requests
    uint64_t outstanding;   // bytes of requests that were not answered yet
    unsigned requests;      // not answered yet
};

// Measurements since the beginning, in MB/s (10^6 bytes a second).
struct load_measured {
    double seconds;
    uint64_t bytes; // that were read and written
    double bandwidth;
    double load;   // bandwidth that clients requested, including requests that waited at the beginning
    bool has_load; // false if requests waited nearly all the time, so that clients could have used more
};

// Begin to measure; requests that were not answered yet stay.
void load_begin(struct load *load, uint64_t now_ns);

// Count a request for some bytes that arrives, and its end. The time of the end counts if it is the last request.
void load_arrived(struct load *load, uint32_t bytes, uint64_t now_ns);
void load_ended(struct load *load, uint32_t bytes, uint64_t now_ns);

// Count bytes that were read or written.
void load_served(struct load *load, uint64_t bytes);

struct load_measured load_measure(const struct load *load, uint64_t now_ns);

#endif
