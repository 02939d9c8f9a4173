// SPDX-License-Identifier: Apache-2.0
// Profiles a job for which the user sets --reprise=profile. The witness library is loaded into the job's programs and
// writes reports to a directory of the user. docs/reference/profiles.md describes these reports.
#ifndef REPRISE_PROFILE_H
#define REPRISE_PROFILE_H

#include <slurm/spank.h>
#include <stdbool.h>
#include <stdint.h>

#include "settings.h"

// Name of the job-control variable that is set if the user wants a profile, and name of the environment variable in
// which Slurm passes it to the job.
#define PROFILE_NAME "REPRISE_PROFILE"
#define PROFILE_WISH "SLURM_SPANK_REPRISE_PROFILE"
// The environment variable that names the witness's directory for reports.
#define PROFILE_VARIABLE "REPRISE_PROFILE"

struct profiled_step {
    bool is_batch;
    bool is_first; // true in the batch step and on the first node of a step, which report problems to the user
    uint32_t job;
    uint32_t restarts;
};

// Set up the profile of a step. Call this with the user's privileges, in slurm_spank_user_init, after all other
// settings. If the user wants a profile but none can be taken, the step runs without a profile, and the function
// returns a line for the user; the caller must free the line.
char *profile_start(spank_t spank, const struct settings *settings, const struct profiled_step *step);

#endif
