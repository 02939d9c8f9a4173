// SPDX-License-Identifier: Apache-2.0
// A library to preload. On rank 1, it overwrites one received element in the fifth call of MPI_Allgather (if $WRONG is
// `allgather`) or MPI_Alltoall (if $WRONG is `alltoall`).
#include <mpi.h>
#include <stdlib.h>
#include <string.h>

static void lose(const char *name, void *received)
{
    static int calls;
    const char *wrong = getenv("WRONG");
    int rank;

    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    if (wrong && !strcmp(wrong, name) && rank == 1 && ++calls == 5)
        *(double *)received = 0;
}

int MPI_Allgather(const void *sent, int n, MPI_Datatype type, void *received, int m, MPI_Datatype as, MPI_Comm comm)
{
    int code = PMPI_Allgather(sent, n, type, received, m, as, comm);

    lose("allgather", received);
    return code;
}

int MPI_Alltoall(const void *sent, int n, MPI_Datatype type, void *received, int m, MPI_Datatype as, MPI_Comm comm)
{
    int code = PMPI_Alltoall(sent, n, type, received, m, as, comm);

    lose("alltoall", received);
    return code;
}
