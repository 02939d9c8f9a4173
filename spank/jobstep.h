// SPDX-License-Identifier: Apache-2.0
// In slurmstepd: apply the decision about a job to its steps, and report the outcome of the job.
#ifndef REPRISE_JOBSTEP_H
#define REPRISE_JOBSTEP_H

#include <slurm/spank.h>

#include "settings.h"

// Called in slurm_spank_user_init, with the user's privileges. Returns a line for the user, to be freed, or NULL.
char *jobstep_start(spank_t spank, const struct settings *settings);

// Called in slurm_spank_task_exit.
void jobstep_end(spank_t spank, const struct settings *settings);

#endif
