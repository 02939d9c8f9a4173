// SPDX-License-Identifier: Apache-2.0
// The profile of a job that its user asks for with --reprise=profile: the witness is loaded into the job's programs,
// which write their reports to a directory of their user's. docs/profile.md says what is in them.
#ifndef REPRISE_PROFILE_H
#define REPRISE_PROFILE_H

#include <slurm/spank.h>
#include <stdbool.h>
#include <stdint.h>

#include "settings.h"

// The variable in which Slurm hands our job-control variable PROFILE_NAME to the job: its user wants a profile.
#define PROFILE_NAME "REPRISE_PROFILE"
#define PROFILE_WISH "SLURM_SPANK_REPRISE_PROFILE"
// Names the directory of the reports to the witness.
#define PROFILE_VARIABLE "REPRISE_PROFILE"
// AddressSanitizer's options, and the one about the order of libraries.
#define SANITIZER_VARIABLE "ASAN_OPTIONS"
#define SANITIZER_ORDER "verify_asan_link_order"
#define SANITIZER_ANY_ORDER SANITIZER_ORDER "=0"

struct profiled_step {
    bool is_batch;
    bool is_first; // the batch step, or a step's first node: it tells the user where something is wrong
    uint32_t job;
    uint32_t restarts;
};

// With the user's privileges, in slurm_spank_user_init, once all else is set. Returns a line for the user where no
// profile can be taken though one is wanted, to be freed; the step runs without it then.
char *profile_start(spank_t spank, const struct settings *settings, const struct profiled_step *step);

#endif
