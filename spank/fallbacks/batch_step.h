// SPDX-License-Identifier: Apache-2.0
// Facts that a TaskProlog can find out about its batch step.
#ifndef REPRISE_BATCH_STEP_H
#define REPRISE_BATCH_STEP_H

#include <stdbool.h>

#include "../request.h"

// True if Slurm runs this program (or a script that runs it) for a batch script and not for a task of a step.
bool batch_step_is_ours(void);

// Describe the job from the environment; false if the environment contains no job.
bool batch_step_describe(struct job *job);

// Return the path of the spooled script below `spool`, which is SlurmdSpoolDir in slurm.conf; NULL if memory is short.
// The caller must free the path.
char *batch_step_script(const char *spool, const struct job *job);

#endif
