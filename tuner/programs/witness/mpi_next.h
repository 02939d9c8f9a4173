// SPDX-License-Identifier: Apache-2.0
// Finds the MPI functions that the witness calls. The witness is not linked with MPI, because it is also loaded into
// programs without MPI.
#ifndef WITNESS_MPI_NEXT_H
#define WITNESS_MPI_NEXT_H

#include <mpi.h>
#include <stdatomic.h>
#include <stdbool.h>

#define EXPORT __attribute__((visibility("default")))

// Return the function `name` from the next library that defines it, or NULL if no such library is loaded yet. `kept`
// caches the result.
void *mpi_next(_Atomic(void *) *kept, const char *name);

#define NEXT(function)                                                                                                 \
    ({                                                                                                                 \
        static _Atomic(void *) kept_##function;                                                                        \
        (__typeof__(&function))mpi_next(&kept_##function, #function);                                                  \
    })

// True if the program uses the MPI implementation that the witness was built with. Other implementations have different
// handles and constants.
bool mpi_is_ours(void);

// Return the address of the MPI library's variable `name`. Open MPI's constants are such addresses.
void *mpi_constant(const char *name);
#ifdef OPEN_MPI
#define CONSTANT(type, variable, constant) ((type)mpi_constant(#variable))
#else
#define CONSTANT(type, variable, constant) (constant)
#endif

#define WORLD CONSTANT(MPI_Comm, ompi_mpi_comm_world, MPI_COMM_WORLD)
#define SELF CONSTANT(MPI_Comm, ompi_mpi_comm_self, MPI_COMM_SELF)
#define NO_COMM CONSTANT(MPI_Comm, ompi_mpi_comm_null, MPI_COMM_NULL)
#define NO_TYPE CONSTANT(MPI_Datatype, ompi_mpi_datatype_null, MPI_DATATYPE_NULL)
#define NO_REQUEST CONSTANT(MPI_Request, ompi_request_null, MPI_REQUEST_NULL)

#endif
