// SPDX-License-Identifier: Apache-2.0
// Hashes of names and words, computed as in matcher/identity/name_numbers.pyx and elf_file.py; a test compares the
// results.
#ifndef REPRISE_NAMES_H
#define REPRISE_NAMES_H

#include <stdint.h>

#include "bounded_file.h"
#include "sketch.h"

// Add the hash of the name that begins at byte `start` of a table of names, without its version and without suffixes
// from compilers. Adds nothing if there is no name.
void names_add(struct lowest *numbers, const struct bytes *table, uint64_t start);

// Remove the hashes of the names that every program gets from its compiler and its C library. Call this after all names
// are added.
void names_leave_out_common(struct lowest *numbers);

// Add the hashes of all words that have at least four letters and occur in a NUL-terminated text of at least six
// characters.
void names_add_words(struct lowest *numbers, const struct bytes *bytes);

#endif
