// SPDX-License-Identifier: Apache-2.0
// In the submitting command: ask for a decision and hand it to the job.
#ifndef REPRISE_SUBMIT_H
#define REPRISE_SUBMIT_H

#include <slurm/spank.h>

#include "settings.h"

// What there is to say to the user, each a line to be freed or NULL.
struct submit_words {
    char *warning;
    char *explanation;
};

// At the start of an sbatch or salloc, 0.25 ms before its options are known: what would only cost time then.
void submit_prepare(spank_context_t context, const struct settings *settings);

// Decide for the job that this sbatch, salloc (S_CTX_ALLOCATOR) or srun (S_CTX_LOCAL) is about to submit. An srun
// inside an allocation is a step of a job that was decided for already: nothing happens.
void submit(spank_t spank, spank_context_t context, const struct settings *settings, struct submit_words *words);

#endif
