// SPDX-License-Identifier: Apache-2.0
// Runs the steps of a plan. Each rank of MPI_COMM_WORLD is a client.
#ifndef REPRISE_FORGE_RUN_H
#define REPRISE_FORGE_RUN_H

#include <mpi.h>

#include "forge_plan.h"
#include "forge_target.h"

struct forge_settings {
    bool is_direct;
    bool is_validated;
    double pause_s;      // mean time between two requests of a rank; 0: none
    double stone_wall_s; // of each write and read step; 0: none
};

// Results of all ranks together, equal in all of them. The seconds of a step are those of its slowest rank.
struct forge_result {
    double write_s;
    double read_s;
    uint64_t write_bytes;
    uint64_t read_bytes;
    bool is_stopped; // by the stone wall
};

// Run the plan and remove its files. All ranks must call it, with equal arguments. Returns 0; on failure -1 in all
// ranks, with a line in `error` of the first rank that failed, and "" in the others.
int forge_run(const struct forge_plan *plan, const struct forge_settings *settings, struct forge_result *result,
              char error[FORGE_ERROR_BYTES]);

#endif
