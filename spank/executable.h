// SPDX-License-Identifier: Apache-2.0
// Reads the names and words of an executable in the same way as matcher/identity/elf_file.py, which explains why these
// names and words are read. A test compares the results.
#ifndef REPRISE_EXECUTABLE_H
#define REPRISE_EXECUTABLE_H

#include <stdbool.h>

#include "bounded_file.h"
#include "own_runtime.h"
#include "sketch.h"

#define BUILD_ID_MAX 32    // bytes of a build-id
#define MPI_LIBRARY_MAX 32 // bytes of an MPI library's name; longer names are ignored

struct executable {
    char build_id[2 * BUILD_ID_MAX + 1];   // hexadecimal digits
    struct lowest names;                   // symbols that the executable defines
    struct lowest imports;                 // symbols that the executable and its libraries exchange
    struct lowest words;                   // words of the executable's text constants
    char runtime[RUNTIME_MAX + 1];         // loader or sanitizer that the program brings, or empty
    char mpi_library[MPI_LIBRARY_MAX + 1]; // first needed library whose name begins with libmpi, or empty
};

// True if these are the first bytes of an ELF file.
bool executable_begins(const struct bytes *bytes);

// Read an ELF file of 32 or 64 bits in either byte order. Its offsets and sizes are not trusted. Names are omitted if
// their tables exceed the limit of bounded_file.h. Returns 0, or -1 if the file is malformed, if its other parts exceed
// the limit, or if memory is short. Call executable_free in any case.
int executable_read(struct executable *executable, struct bounded_file *file);
void executable_free(struct executable *executable);

#endif
