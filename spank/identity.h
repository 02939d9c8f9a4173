// SPDX-License-Identifier: Apache-2.0
// The identity of a program: facts read from the program's file that do not depend on the file's name.
#ifndef REPRISE_IDENTITY_H
#define REPRISE_IDENTITY_H

#include "bounded_file.h"
#include "executable.h"
#include "sketch.h"

// For an executable, its build-id, sketches, runtime and MPI library, each "" if unknown; for a script, the beginning
// of its text.
struct identity {
    char build_id[2 * BUILD_ID_MAX + 1];
    char functions[SKETCH_SIZE + 1];
    char imports[SKETCH_SIZE + 1];
    char contents[SKETCH_SIZE + 1];
    char runtime[RUNTIME_MAX + 1];
    char mpi_library[MPI_LIBRARY_MAX + 1];
    struct bytes script; // beginning of a script; empty for an executable
};

// Read the identity of a file. Returns 0, or -1 if it is neither an executable nor a script, or cannot be read.
int identity_read(struct identity *identity, struct bounded_file *file);
void identity_free(struct identity *identity);

#endif
