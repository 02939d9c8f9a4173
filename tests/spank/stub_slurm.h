// SPDX-License-Identifier: Apache-2.0
// The state of the simulated Slurm. player.c sets the state as the script says, and stub_slurm.c returns it to the
// plugin.
#ifndef REPRISE_TESTS_STUB_SLURM_H
#define REPRISE_TESTS_STUB_SLURM_H

#include <slurm/spank.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#define MANY 32768

struct environment {
    char *entries[MANY];
    size_t count;
};

struct stub {
    spank_context_t context;
    struct environment job;
    struct environment control;
    struct spank_option option; // the option that the plugin has registered
    uint32_t items[S_JOB_ARRAY_TASK_ID + 1];
    bool has_item[S_JOB_ARRAY_TASK_ID + 1];
    char *job_argv[2];
    char slurm_version[32];
    bool lacking; // whether environment, arguments and Slurm version are unavailable
    FILE *report; // file to which log lines are written
};

extern struct stub stub;

#endif
