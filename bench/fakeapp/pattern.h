// SPDX-License-Identifier: Apache-2.0
// A pattern of reads (Robert 2021, section 2.2): leads are positions that are spread over a file and visited in turn. A
// visit makes some reads around its lead and then moves the lead.
#ifndef PATTERN_H
#define PATTERN_H

#include <stdint.h>

// A range of numbers that includes both ends. If `high` is 0, the range is not set.
struct range {
    uint64_t low;
    uint64_t high;
};

// The parameters of a pattern, with their letters in Robert 2021. Sizes, widths and distances are in bytes.
struct pattern {
    uint64_t operations;           // N: total number of reads of all leads
    uint64_t min_size;             // w: size of the smallest read
    uint64_t max_size;             // W: size of the largest read
    uint64_t scatter;              // S: width around a lead
    uint64_t leads;                // L: number of leads
    uint64_t advance;              // l: bytes by which a visit moves its lead
    uint64_t repeat;               // r: number of reads per visit
    struct range scatter_interval; // g: range from which each lead's width is drawn; replaces S
    struct range repeat_interval;  // G: range of each lead's number of reads, made in one visit; replaces N, r
    uint64_t threads;              // number of threads that share the leads
};

struct operation {
    uint64_t lead;
    uint64_t offset;
    uint64_t size;
};

// The state of one of the workers that share the leads. Random numbers do not depend on the worker, so all workers
// together make the same reads, whatever the number of workers.
struct walk {
    const struct pattern *pattern;
    unsigned long seed;
    uint64_t file_size;
    uint64_t worker;
    uint64_t workers;
    uint64_t visit; // number of the visit, counted over all leads
    uint64_t read;  // number of the read within the visit
};

// Set `pattern` to the pattern with this name: a, b, c or d. Return 0, or -1 if no pattern has this name.
int pattern_named(const char *name, struct pattern *pattern);

// Set `operation` to the worker's next read. Return 1, or 0 if none is left.
int walk_next(struct walk *walk, struct operation *operation);

#endif
