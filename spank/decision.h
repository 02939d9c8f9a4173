// SPDX-License-Identifier: Apache-2.0
// What was decided for a job: as the daemon replies it, and as it is carried to the job.
#ifndef REPRISE_DECISION_H
#define REPRISE_DECISION_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "limits.h"

// The variable in which Slurm hands our job-control variable CARRY_NAME to the job.
#define CARRY_NAME "REPRISE"
#define CARRY_VARIABLE "SLURM_SPANK_REPRISE"
// Tells the job which decision its settings come from.
#define DECISION_VARIABLE "REPRISE_DECISION"

enum verdict {
    VERDICT_NONE, // of an empty decision, too
    VERDICT_APPLY,
    VERDICT_OBSERVE,
    VERDICT_HOLDOUT,
    VERDICT_DEFER,
    VERDICT_OFF,         // the plugin's own: switched off by the user or the site
    VERDICT_UNREACHABLE, // the plugin's own: no daemon answered
};

struct variable {
    char *name;
    char *value;
};

// Initialise with {0}; release with decision_free.
struct decision {
    enum verdict verdict;
    char id[DECISION_ID_MAX + 1]; // "" for the plugin's own verdicts
    char reason[REASON_MAX + 1];
    bool has_score;
    double score;
    bool has_record;
    int64_t record;
    size_t count;
    struct variable *variables;
};

const char *verdict_word(enum verdict verdict);

// Read a daemon's reply to `decide`. Returns 0, or -1 if anything in it is not as docs/protocol.md says; then the
// decision is empty.
int decision_from_reply(struct decision *decision, const char *text, size_t size);

// The same for the text of CARRY_VARIABLE, which is the user's word.
int decision_from_carried(struct decision *decision, const char *text, size_t size);

// The text to carry, to be freed; NULL for a verdict with which the batch step is to ask again, if the text would be
// longer than CARRY_MAX, or without memory.
char *decision_to_carried(const struct decision *decision);

// The value that it has for a variable, or NULL.
const char *decision_value(const struct decision *decision, const char *name);

// How many of the files that the settings name this user cannot read here; a library (preload.h) is one. A program that
// does not find its file goes on without a word, and with whatever else it was given. Values with a colon are lists of
// paths or something else.
uint32_t decision_unreadable(const struct decision *decision, const char *preload_directory);

void decision_free(struct decision *decision);

#endif
