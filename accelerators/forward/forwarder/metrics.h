// SPDX-License-Identifier: Apache-2.0
// Counters, and their text in the format that Prometheus reads.
#ifndef FORWARDER_METRICS_H
#define FORWARDER_METRICS_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "limits.h"
#include "patterns.h"

enum operation { OPERATION_READ, OPERATION_WRITE, OPERATION_OTHER, OPERATIONS };

extern const char *const metrics_operations[]; // names

#define USER_UNKNOWN UINT32_MAX // no user has this ID

#define LATENCIES 14 // buckets of 16 us, 64 us, ... each four times as long; the last one has no upper limit

struct job {
    char name[JOB_NAME_MAX + 1];
    bool has_user;      // a connection was let in
    uint32_t user;      // whom munge confirmed, for all connections; USER_UNKNOWN: nobody, or several
    unsigned users;     // connections of the job
    uint64_t last_used; // order of use
    int write_back;     // chosen for the job; -1: the forwarder's
    uint64_t requests[OPERATIONS];
    uint64_t bytes[2]; // by OPERATION_READ and OPERATION_WRITE
    uint64_t latencies[OPERATIONS][LATENCIES];
    uint64_t latency_ns[OPERATIONS]; // sum
    uint64_t number;                 // different for each job
    struct pattern patterns[2];      // as bytes
};

struct metrics {
    struct job jobs[JOBS_MAX + 1];
    unsigned job_count;
    uint64_t uses;  // of jobs
    uint64_t names; // jobs that had a place
    struct patterns patterns;
    uint64_t connections; // now
    uint64_t connections_total;
    uint64_t refused; // connections that broke the protocol or exceeded a limit
    uint64_t cached_bytes;
    uint64_t through_bytes; // written through because the cache could not take them
    uint64_t destaged_bytes;
    uint64_t journaled_bytes;
    uint64_t replayed_bytes;
    uint64_t write_errors;      // delayed writes that the file system refused
    uint64_t lost_bytes;        // bytes of these
    uint64_t council_decisions; // that were applied
    uint64_t council_refused;   // lines of the council that were not believed, or malformed
    uint64_t council_heard_ns;  // time of the last decision; 0: none
    uint64_t bursts_started;
    uint64_t bursts_denied;  // connections that asked for a burst buffer and got none
    uint64_t bursts_refused; // connections that did not prove whose burst buffer they asked for
};

// A value that others own, to be printed as a gauge.
struct gauge {
    const char *name;
    const char *help;
    uint64_t value;
};

// Return the counters of a job, by name. If JOBS_MAX names are known, the new job replaces the one whose connections
// ended first; if all have connections, return those of "other".
struct job *metrics_job(struct metrics *metrics, const char *name);

// Count a connection of a job, or its end; NULL is allowed.
void metrics_use(struct metrics *metrics, struct job *job);
void metrics_leave(struct metrics *metrics, struct job *job);

// Note the user of a connection of the job that diod let in; USER_UNKNOWN: munge did not confirm one. A job's name is a
// claim, so requests of several users may be counted under it: then the job has no user until its place is taken.
void metrics_let_in(struct job *job, uint32_t user);

// Count an answered request of a job.
void metrics_count(struct job *job, enum operation operation, uint64_t bytes, uint64_t latency_ns);

// Print all metrics, with `count` gauges.
void metrics_print(const struct metrics *metrics, const struct gauge *gauges, unsigned count, FILE *to);

#endif
