// SPDX-License-Identifier: Apache-2.0
// Reports the hints of MPI-IO that are in effect for a file when it is opened.
#ifndef WITNESS_HINTS_H
#define WITNESS_HINTS_H

#include <mpi.h>

typedef int hints_opener(MPI_Comm comm, const char *name, int mode, MPI_Info info, MPI_File *file);

// Open a file by calling `real`, and report the hints in effect if REPRISE_WITNESS is set. Returns the result of
// `real`.
int hints_open(hints_opener *real, MPI_Comm comm, const char *name, int mode, MPI_Info info, MPI_File *file);

#endif
