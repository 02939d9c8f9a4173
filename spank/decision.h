// SPDX-License-Identifier: Apache-2.0
// The decision about a job. Reads it from the daemon's reply, and converts it to and from the text that is carried to
// the job.
#ifndef REPRISE_DECISION_H
#define REPRISE_DECISION_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "limits.h"

// Name of the job-control variable with the decision, and name of the variable in which Slurm passes it to the job.
#define CARRY_NAME "REPRISE"
#define CARRY_VARIABLE "SLURM_SPANK_REPRISE"
// The variable with the id of the decision that the job's settings come from.
#define DECISION_VARIABLE "REPRISE_DECISION"

enum verdict {
    VERDICT_NONE, // also the verdict of an empty decision
    VERDICT_APPLY,
    VERDICT_OBSERVE,
    VERDICT_HOLDOUT,
    VERDICT_DEFER,
    VERDICT_OFF,         // set by the plugin: the user or the site has switched Reprise off
    VERDICT_UNREACHABLE, // set by the plugin: no daemon answered
};

struct variable {
    char *name;
    char *value;
};

// Initialize with {0}; release with decision_free.
struct decision {
    enum verdict verdict;
    char id[DECISION_ID_MAX + 1]; // "" for verdicts that the plugin sets
    char reason[REASON_MAX + 1];
    bool has_score;
    double score;
    size_t count;
    struct variable *variables;
};

const char *verdict_word(enum verdict verdict);

// Read a daemon's reply to `decide`. Returns 0, or -1 if anything in it violates docs/reference/messages.md; the
// decision is then empty.
int decision_from_reply(struct decision *decision, const char *text, size_t size);

// Read the text of CARRY_VARIABLE, which is not trusted because the user can set it. Returns 0 or -1 as
// decision_from_reply does.
int decision_from_carried(struct decision *decision, const char *text, size_t size);

// Return the text to carry; NULL if the verdict requires the batch step to ask again, if the text would be longer than
// CARRY_MAX, or if memory is short. The caller must free the text.
char *decision_to_carried(const struct decision *decision);

// Return the value that the decision sets for a variable, or NULL if it does not set the variable.
const char *decision_value(const struct decision *decision, const char *name);

// Return the number of files that the settings name but this user cannot read on this node, including the library to
// preload (preload.h). A program that does not find such a file continues silently with its other settings. Values with
// a colon are not checked, because they are not a single path; neither are those of the forwarding library, which does
// nothing without its files.
uint32_t decision_unreadable(const struct decision *decision, const char *preload_directory);

void decision_free(struct decision *decision);

#endif
