// SPDX-License-Identifier: Apache-2.0
// Steps of the forwarding explorer, from the arguments of its command line. Pure functions, without MPI.
//
//   phase:REPETITIONS              the steps that follow are repeated, up to the next phase
//   open:LAYOUT:PATH               LAYOUT is contiguous, strided (both in one shared file) or individual
//   write:LAYOUT:TOTAL:SIZE:PATH   move TOTAL bytes of all clients together in requests of SIZE bytes
//   read:LAYOUT:TOTAL:SIZE:PATH
//   close:LAYOUT:PATH
//
// Steps before the first phase are done once.
#ifndef REPRISE_FORGE_PLAN_H
#define REPRISE_FORGE_PLAN_H

#include <stddef.h>
#include <stdint.h>

#include "forge_requests.h"

// Largest request in bytes. Each rank has one buffer of that size.
#define FORGE_REQUEST_MAX ((uint64_t)1 << 30)
#define FORGE_REPETITIONS_MAX 1000000
// Longest path in bytes. Names of files have a suffix with the run and the rank, and PATH_MAX is 4096.
#define FORGE_PATH_MAX 4000

enum forge_operation {
    FORGE_OPEN,
    FORGE_WRITE,
    FORGE_READ,
    FORGE_CLOSE,
};

struct forge_step {
    enum forge_operation operation;
    enum forge_layout layout;
    uint64_t total; // bytes of all clients
    uint64_t size;  // bytes of a request
    const char *path;
};

struct forge_phase {
    uint64_t repetitions;
    size_t first; // index of its first step
    size_t end;   // index after its last step
};

// `steps` and `phases` are owned; the paths are those of the arguments.
struct forge_plan {
    struct forge_step *steps;
    struct forge_phase *phases;
    size_t step_count;
    size_t phase_count;
};

// Read a plan from `count` arguments. Returns 0; on failure -1 with a line in `error`, and the plan is empty.
int forge_plan_read(struct forge_plan *plan, size_t count, char *const *arguments, char *error, size_t error_size);

void forge_plan_free(struct forge_plan *plan);

#endif
