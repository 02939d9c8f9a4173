// SPDX-License-Identifier: Apache-2.0
// Datatypes and operations that stand in for the recorded ones: an element has as many bytes as it had.
#ifndef REPRISE_ELEMENTS_H
#define REPRISE_ELEMENTS_H

#include <mpi.h>

// A datatype of `bytes` bytes, and what reduces it: sums where C has such a number, else bytes combined by or. They are
// made once and kept to the end. Returns an error code of MPI.
int element_of(int bytes, MPI_Datatype *type, MPI_Op *op);

#endif
