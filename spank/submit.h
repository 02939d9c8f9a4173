// SPDX-License-Identifier: Apache-2.0
// Asks for a decision in the submitting command, and passes it to the job.
#ifndef REPRISE_SUBMIT_H
#define REPRISE_SUBMIT_H

#include <slurm/spank.h>

#include "settings.h"

// Messages for the user and for the log. Each is NULL or a line; the caller must free `warning` and `explanation`.
struct submit_words {
    char *warning;
    char *explanation;
    const char *remark; // for the log; the others are for the user. Not to be freed.
};

// Connect to the daemon early, to save time later. Called at the start of sbatch or salloc, 0.25 ms before the options
// are known.
void submit_prepare(spank_context_t context, const struct settings *settings);

// Decide about the job that this sbatch, salloc (S_CTX_ALLOCATOR) or srun (S_CTX_LOCAL) is about to submit. Does
// nothing for an srun inside an allocation: it is a step of a job that already has a decision.
void submit(spank_t spank, spank_context_t context, const struct settings *settings, struct submit_words *words);

#endif
