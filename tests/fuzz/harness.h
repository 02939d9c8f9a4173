// SPDX-License-Identifier: Apache-2.0
// Shared parts of the plugin's harnesses. A harness is a function LLVMFuzzerTestOneInput in a file that is named after
// the tested part.
#ifndef REPRISE_HARNESS_H
#define REPRISE_HARNESS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "../../spank/decision.h"
#include "must.h"

typedef int read_decision(struct decision *decision, const char *text, size_t size);

// Checks the conditions that any decision must meet, whoever sent it.
void check_decision(const struct decision *decision);

// Checks that reading the text again while allocation number `fail_at` fails returns an equal decision or none.
void check_without_memory(read_decision *read, const char *text, size_t size, const struct decision *decision,
                          unsigned int fail_at);

// Returns whether two decisions have the same effect on a job.
bool same_to_the_job(const struct decision *one, const struct decision *other);

// Returns a copy of `data` followed by a NUL. The copy's memory block ends with the NUL, so that sanitizers detect
// reads beyond it. The caller frees the copy.
char *copy_text(const uint8_t *data, size_t size);

// Splits `text` at `separator` bytes into at most `limit` pieces, and returns these as an array that ends with NULL.
// Modifies `text`. The caller frees the array.
char **split(char *text, size_t size, char separator, size_t limit, size_t *count);

#endif
