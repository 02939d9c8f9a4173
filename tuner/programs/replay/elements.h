// SPDX-License-Identifier: Apache-2.0
// Datatypes and reduction operations that replace the recorded ones and have the same number of bytes per element.
#ifndef REPRISE_ELEMENTS_H
#define REPRISE_ELEMENTS_H

#include <mpi.h>

// Set `*type` to a datatype of `bytes` bytes, and `*op` to an operation that reduces it: a sum if C has a number type
// of this size, otherwise a bitwise OR of bytes. New datatypes and operations are created once and kept until the
// process ends. Returns an MPI error code.
int element_of(int bytes, MPI_Datatype *type, MPI_Op *op);

#endif
