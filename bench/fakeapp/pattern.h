// SPDX-License-Identifier: Apache-2.0
// A pattern of reads (Robert 2021, section 2.2): positions spread over a file, the leads, each visited in turn; a visit
// makes some reads around its lead and then moves the lead on.
#ifndef PATTERN_H
#define PATTERN_H

#include <stdint.h>

// Both ends belong to it. Not set where `high` is 0.
struct range {
    uint64_t low;
    uint64_t high;
};

// Lengths are bytes.
struct pattern {
    uint64_t operations;           // N: reads of all leads
    uint64_t min_size;             // w
    uint64_t max_size;             // W
    uint64_t scatter;              // S: width around a lead
    uint64_t leads;                // L
    uint64_t advance;              // l: what a visit moves its lead on by
    uint64_t repeat;               // r: reads of a visit
    struct range scatter_interval; // g: every lead draws its scatter; stands for S
    struct range
        repeat_interval; // G: every lead draws its number of reads and makes them in one visit; stands for N, r
    uint64_t threads;    // that share the leads
};

struct operation {
    uint64_t lead;
    uint64_t offset;
    uint64_t size;
};

// The reads of one of several workers, who share the leads. The worker is no part of what is drawn: all workers
// together make the same reads, however many they are.
struct walk {
    const struct pattern *pattern;
    unsigned long seed;
    uint64_t file_size;
    uint64_t worker;
    uint64_t workers;
    uint64_t visit; // over all leads
    uint64_t read;  // of this visit
};

// The pattern of a name: a, b, c or d. Returns 0, or -1 where there is none.
int pattern_named(const char *name, struct pattern *pattern);

// The next read; 0 where there is none left.
int walk_next(struct walk *walk, struct operation *operation);

#endif
