// SPDX-License-Identifier: Apache-2.0
// An executable's own words, as matcher/identity/elf_file.py reads them, which says why these: a test compares the two.
#ifndef REPRISE_EXECUTABLE_H
#define REPRISE_EXECUTABLE_H

#include <stdbool.h>

#include "bounded_file.h"
#include "sketch.h"

#define BUILD_ID_MAX 32 // bytes

struct executable {
    char build_id[2 * BUILD_ID_MAX + 1]; // hexadecimal digits
    struct lowest names;                 // of what it defines
    struct lowest imports;               // of what it and its libraries give each other
    struct lowest words;                 // of its text constants
};

// True if these are the first bytes of an ELF file.
bool executable_begins(const struct bytes *bytes);

// Read a file that begins so, of 32 or 64 bits in either byte order, whose offsets and sizes may be any; without names
// where their tables are larger than may be read. Returns 0, or -1 where it is malformed, the rest is too large, or
// there is no memory. To be freed in any case.
int executable_read(struct executable *executable, struct bounded_file *file);
void executable_free(struct executable *executable);

#endif
