// SPDX-License-Identifier: Apache-2.0
// What a TaskProlog can know of the batch step that it is run for.
#ifndef REPRISE_BATCH_STEP_H
#define REPRISE_BATCH_STEP_H

#include <stdbool.h>

#include "../request.h"

// True where Slurm runs this program (or a script that runs it) for a batch script, and not for a task of a step.
bool batch_step_is_ours(void);

// The job by its environment; false where that tells of no job.
bool batch_step_describe(struct job *job);

// The path of the spooled script below `spool`, slurm.conf's SlurmdSpoolDir; to be freed, NULL if it cannot be made.
char *batch_step_script(const char *spool, const struct job *job);

#endif
