// SPDX-License-Identifier: Apache-2.0
// Names and words as numbers, as matcher/identity/name_numbers.pyx and elf_file.py make them: a test compares the two.
#ifndef REPRISE_NAMES_H
#define REPRISE_NAMES_H

#include <stdint.h>

#include "bounded_file.h"
#include "sketch.h"

// Add the name that begins at `start` of a table of names, without its version or what a compiler has added; none where
// there is no name, or it is every program's.
void names_add(struct lowest *numbers, const struct bytes *table, uint64_t start);

// Add the words of at least four letters in texts of at least six characters that a NUL ends.
void names_add_words(struct lowest *numbers, const struct bytes *bytes);

#endif
