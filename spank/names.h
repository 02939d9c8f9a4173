// SPDX-License-Identifier: Apache-2.0
// Names and words as numbers, as matcher/identity/name_numbers.pyx and elf_file.py make them: a test compares the two.
#ifndef REPRISE_NAMES_H
#define REPRISE_NAMES_H

#include <stdint.h>

#include "bounded_file.h"
#include "sketch.h"

// Add the name that begins at `start` of a table of names, without its version or what a compiler has added; none where
// there is no name.
void names_add(struct lowest *numbers, const struct bytes *table, uint64_t start);

// Take out, once all are added, what every program has of its compiler and its C library.
void names_leave_out_common(struct lowest *numbers);

// Add the words of at least four letters in texts of at least six characters that a NUL ends.
void names_add_words(struct lowest *numbers, const struct bytes *bytes);

#endif
