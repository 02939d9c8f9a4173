// SPDX-License-Identifier: Apache-2.0
// Lets SimGrid's example applications compile for a real MPI: SMPI's macros are replaced with ordinary C.
#ifndef REPRISE_BENCH_SMPI_MPI_H
#define REPRISE_BENCH_SMPI_MPI_H

#include <mpi.h>
#include <stdlib.h>
#include <string.h>

#define SMPI_SHARED_MALLOC(size) malloc(size)
#define SMPI_SHARED_FREE(data) free(data)
// This macro computes every round. SimGrid's macro computes some rounds and estimates the time of the others.
#define SMPI_SAMPLE_GLOBAL(first, condition, next, rounds, precision) for (first; condition; next)

#endif
