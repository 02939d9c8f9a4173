// SPDX-License-Identifier: Apache-2.0
// Hints of MPI-IO that are in effect once a file is open.
#ifndef WITNESS_HINTS_H
#define WITNESS_HINTS_H

#include <mpi.h>

typedef int hints_opener(MPI_Comm comm, const char *name, int mode, MPI_Info info, MPI_File *file);

// Opens a file by `real`; reports the hints in effect if REPRISE_WITNESS asks for it.
int hints_open(hints_opener *real, MPI_Comm comm, const char *name, int mode, MPI_Info info, MPI_File *file);

#endif
