// SPDX-License-Identifier: Apache-2.0
// The JSON of requests, as docs/protocol.md has it.
#ifndef REPRISE_REQUEST_H
#define REPRISE_REQUEST_H

#include <stdbool.h>
#include <stdint.h>

#include "collect.h"
#include "decision.h"
#include "identity.h"
#include "mode.h"

// What Slurm tells of a job once it runs.
struct job {
    uint32_t id;
    bool in_array;
    uint32_t array_task;
    uint32_t nodes;
    bool has_tasks;
    uint32_t tasks;
    uint32_t restarts;
    uint32_t uid;
    char cluster[CLUSTER_NAME_MAX + 1]; // "": unknown
};

// Note the job's cluster by what Slurm says in its environment. What no cluster is called is no name.
void job_set_cluster(struct job *job, char *const *environment);

// What to give a job. `job` NULL: it is only being submitted.
struct question {
    const struct submission *submission;
    enum mode mode;
    const char *slurm_version;
    const struct job *job;
};

// What became of a job. `ended` and `step` NULL: it has only started.
struct outcome {
    enum verdict verdict;
    const char *decision; // "": none
    uint32_t applied;     // variables
    uint32_t unreadable;  // files that they name: nothing is applied then
    const struct job *job;
    const struct outcome_step {
        uint32_t present; // variables that its tasks have
    } * step;
    const struct outcome_end {
        double elapsed_s;
        int exit_status; // as wait(2) gives it
    } * ended;
};

// `decide`. The text is to be freed; NULL if it cannot be made within REQUEST_MAX.
char *request_decide(const struct question *question, size_t *size);

// `outcome`, likewise.
char *request_outcome(const struct outcome *outcome, size_t *size);

// `identity`, likewise.
char *request_identity(const char *decision, const struct identity *identity, size_t *size);

#endif
