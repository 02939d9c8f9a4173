// SPDX-License-Identifier: Apache-2.0
// Shared parts of the harnesses. Each is one LLVMFuzzerTestOneInput, in a file named after its subject.
#ifndef REPRISE_HARNESS_H
#define REPRISE_HARNESS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "../../spank/decision.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

// Checks an invariant for any input; if it fails, the program ends, and the fuzzer keeps the input.
#define MUST(condition) ((condition) ? (void)0 : broken(#condition, __FILE__, __LINE__))
_Noreturn void broken(const char *condition, const char *file, int line);

typedef int read_decision(struct decision *decision, const char *text, size_t size);

// Checks the invariants of a decision, whoever sent it.
void check_decision(const struct decision *decision);

// Checks that reading the text again, with allocation number `fail_at` failing, gives an equal decision or none.
void check_without_memory(read_decision *read, const char *text, size_t size, const struct decision *decision,
                          unsigned int fail_at);

// Returns true if both have the same effect on a job.
bool same_to_the_job(const struct decision *one, const struct decision *other);

// Returns a copy that ends where `data` ends, plus a NUL, so that reading one byte too far is detected. To be freed.
char *copy_text(const uint8_t *data, size_t size);

// Returns the pieces of `text` between `separator` bytes, at most `limit`, as an array that ends with NULL; to be
// freed. Modifies `text`.
char **split(char *text, size_t size, char separator, size_t limit, size_t *count);

#endif
