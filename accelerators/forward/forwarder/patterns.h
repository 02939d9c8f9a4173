// SPDX-License-Identifier: Apache-2.0
// Access patterns: the features of each job's reads and writes in each second (Bez 2020, section 3.2). They are those
// that distinguish patterns: number of files, sizes of requests, and the distance between consecutive requests to a
// file.
#ifndef FORWARDER_PATTERNS_H
#define FORWARDER_PATTERNS_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "limits.h"

struct metrics;

// The features of one job and operation in a second.
struct features {
    uint64_t second;       // number of the second; 0: there are no features
    uint64_t begin_ns;     // monotonic clock
    uint64_t end_ns;       // the same
    uint64_t begun_at_ns;  // wall clock
    uint32_t window_us;    // of the scheduler; WINDOW_NONE: none, or it changed in this second
    uint32_t files;        // to which requests arrived
    uint32_t request_min;  // bytes
    uint32_t request_max;  // bytes
    uint64_t requests;     // that arrived
    uint64_t request_sum;  // bytes
    uint64_t distances;    // requests whose predecessor is known
    double distance_sum;   // bytes
    uint64_t served_bytes; // read or written by requests that were answered, whenever they arrived
};

// The features of a job and operation in the current second, and in an earlier one.
struct pattern {
    struct features current;
    struct features last;
};

// Place of the last request to a file by a job and operation.
struct stream {
    uint64_t owner; // the job and operation
    uint64_t file;  // inode number
    uint64_t end;   // offset behind the request
    uint64_t used_ns;
};

#define STREAMS_PER_SET 16
#define STREAM_SETS (STREAMS_MAX / STREAMS_PER_SET)

struct patterns {
    uint64_t (*wall)(void); // wall clock in nanoseconds
    struct features second; // an empty one, with the times and the window of the current second
    uint32_t window_us;     // now
    uint64_t replaced;      // files that were forgotten in a second in which they were used
    struct stream streams[STREAM_SETS][STREAMS_PER_SET];
};

// A read or write that arrives.
struct access {
    uint64_t owner; // number of the job and operation
    uint64_t file;  // inode number
    uint64_t offset;
    uint32_t bytes;
};

// Start to count, at a time of the monotonic clock, with the scheduler's window; WINDOW_NONE: it has none.
void patterns_start(struct patterns *patterns, uint64_t (*wall)(void), uint64_t now_ns, uint32_t window_us);

// Begin a new second if the current one is over.
void patterns_advance(struct patterns *patterns, uint64_t now_ns);

// Count a request that arrives, and the bytes of an answered one.
void patterns_arrived(struct patterns *patterns, struct pattern *pattern, const struct access *access, uint64_t now_ns);
void patterns_served(struct patterns *patterns, struct pattern *pattern, uint64_t bytes, uint64_t now_ns);

// Note that the scheduler's window is another one. It is in the features of seconds in which it did not change.
void patterns_set_window(struct metrics *metrics, uint32_t window_us, uint64_t now_ns);

// Return the features of the last complete second that had any; NULL if there was none.
const struct features *patterns_last(const struct patterns *patterns, const struct pattern *pattern);

// Print the last complete second of each job as a line of JSON.
void patterns_print_json(const struct metrics *metrics, FILE *to);

// Print those of the last complete second only, without brackets and newline.
void patterns_print_recent(const struct metrics *metrics, FILE *to);

// Print the last complete second of the jobs with most bytes in it as metrics for Prometheus.
void patterns_print(const struct metrics *metrics, FILE *to);

#endif
