// SPDX-License-Identifier: Apache-2.0
// The function that each harness defines, and the conditions that it checks.
#ifndef REPRISE_MUST_H
#define REPRISE_MUST_H

#include <stddef.h>
#include <stdint.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

// Checks a condition that must be true for any input. If it is false, the program ends, and the fuzzer keeps the input.
#define MUST(condition) ((condition) ? (void)0 : broken(#condition, __FILE__, __LINE__))
_Noreturn void broken(const char *condition, const char *file, int line);

#endif
