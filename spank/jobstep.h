// SPDX-License-Identifier: Apache-2.0
// Applies the decision about a job to its steps, and reports the outcome of the job. This code runs in slurmstepd.
#ifndef REPRISE_JOBSTEP_H
#define REPRISE_JOBSTEP_H

#include <slurm/spank.h>

#include "settings.h"

// Start a step. Called in slurm_spank_user_init, with the user's privileges. Returns a line for the user, or NULL if
// there is nothing to say. The caller must free the line. Sets `*remark` to a line for slurmd's log, or to NULL.
char *jobstep_start(spank_t spank, const struct settings *settings, const char **remark);

// Report the end of the job when the task of the batch step, which is the job's script, exits; do nothing in other
// steps. Called in slurm_spank_task_exit.
void jobstep_end(spank_t spank, const struct settings *settings);

#endif
