// SPDX-License-Identifier: Apache-2.0
// Makes the JSON of requests, which docs/reference/messages.md defines.
#ifndef REPRISE_REQUEST_H
#define REPRISE_REQUEST_H

#include <stdbool.h>
#include <stdint.h>

#include "collect.h"
#include "decision.h"
#include "identity.h"
#include "mode.h"

// Facts about a job that Slurm provides once the job runs.
struct job {
    uint32_t id;
    bool in_array;
    uint32_t array_task;
    uint32_t nodes;
    bool has_tasks;
    uint32_t tasks;
    uint32_t restarts;
    uint32_t uid;
    char cluster[CLUSTER_NAME_MAX + 1]; // "" if unknown
};

// Set the job's cluster from the environment that Slurm provides. A name that is not valid for a cluster is ignored.
void job_set_cluster(struct job *job, char *const *environment);

// A request for a decision. `job` is NULL while the job is being submitted.
struct question {
    const struct submission *submission;
    enum mode mode;
    const char *slurm_version;
    const struct job *job;
};

// A report of a job's outcome. `step` is set only in the report of its first step, and `ended` only in that of its end;
// in the report of its start, both are NULL.
struct outcome {
    enum verdict verdict;
    const char *decision; // "" if there is none
    uint32_t applied;     // number of the decision's variables that were set
    uint32_t unreadable;  // number of files that the variables name but that cannot be read; if any, no variable is set
    const struct job *job;
    const struct outcome_step {
        uint32_t present; // number of the decision's variables that the step's tasks have
    } * step;
    const struct outcome_end {
        double elapsed_s;
        int exit_status; // in the format of wait(2)
    } * ended;
};

// Return a `decide` request; NULL if it would exceed REQUEST_MAX, or if memory is short. The caller must free it.
char *request_decide(const struct question *question, size_t *size);

// Return an `outcome` request, or NULL as request_decide does. The caller must free it.
char *request_outcome(const struct outcome *outcome, size_t *size);

// Return an `identity` request, or NULL as request_decide does. The caller must free it.
char *request_identity(const char *decision, const struct identity *identity, size_t *size);

#endif
