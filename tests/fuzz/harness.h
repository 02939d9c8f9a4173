// SPDX-License-Identifier: Apache-2.0
// What the harnesses share. Each is one LLVMFuzzerTestOneInput, in a file that is named after what it feeds.
#ifndef REPRISE_HARNESS_H
#define REPRISE_HARNESS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "../../spank/decision.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

// Something that must hold of whatever was fed; where it does not, the program ends, and the fuzzer keeps the input.
#define MUST(condition) ((condition) ? (void)0 : broken(#condition, __FILE__, __LINE__))
_Noreturn void broken(const char *condition, const char *file, int line);

typedef int read_decision(struct decision *decision, const char *text, size_t size);

// Everything that holds of a decision, whoever sent it.
void check_decision(const struct decision *decision);

// That reading the same text once more, with the allocation number `fail_at` failing, gives the same or nothing.
void check_without_memory(read_decision *read, const char *text, size_t size, const struct decision *decision,
                          unsigned int fail_at);

// True where both carry the same to a job.
bool same_to_the_job(const struct decision *one, const struct decision *other);

// A copy that ends where `data` ends, so that one byte too far is seen; with a NUL after it. To be freed.
char *copy_text(const uint8_t *data, size_t size);

// The pieces of `text` between `separator` bytes, at most `limit` of them, in an array that NULL ends; to be freed.
// Cuts `text` up.
char **split(char *text, size_t size, char separator, size_t limit, size_t *count);

#endif
