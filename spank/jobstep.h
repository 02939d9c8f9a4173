// SPDX-License-Identifier: Apache-2.0
// In slurmstepd: give a step what its job was decided to get, and report what became of the job.
#ifndef REPRISE_JOBSTEP_H
#define REPRISE_JOBSTEP_H

#include <slurm/spank.h>

#include "settings.h"

// In slurm_spank_user_init, with the user's privileges. Returns a line for the job's user, to be freed, or NULL.
char *jobstep_start(spank_t spank, const struct settings *settings);

// In slurm_spank_task_exit.
void jobstep_end(spank_t spank, const struct settings *settings);

#endif
