// SPDX-License-Identifier: Apache-2.0
// Datatypes and operations that replace the recorded ones, with the recorded number of bytes per element.
#ifndef REPRISE_ELEMENTS_H
#define REPRISE_ELEMENTS_H

#include <mpi.h>

// A datatype of `bytes` bytes and an operation to reduce it: a sum if C has such a number, otherwise a bitwise or of
// bytes. They are created once and kept to the end. Returns an MPI error code.
int element_of(int bytes, MPI_Datatype *type, MPI_Op *op);

#endif
