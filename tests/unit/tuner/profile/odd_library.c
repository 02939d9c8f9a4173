// SPDX-License-Identifier: Apache-2.0
// An MPI library other than the one the witness was built with. It accepts neither Open MPI's handles nor null handles.
#include <stdio.h>
#include <stdlib.h>

int PMPI_Init(int *argc, char ***argv)
{
    (void)argc;
    (void)argv;
    return 0;
}

int MPI_Init(int *argc, char ***argv)
{
    return PMPI_Init(argc, argv);
}

int MPI_Comm_rank(int comm, int *rank)
{
    if (comm != 0x44000000) {
        printf("Fatal error: invalid communicator\n");
        exit(5);
    }
    *rank = 0;
    return 0;
}

int PMPI_Comm_rank(int comm, int *rank)
{
    return MPI_Comm_rank(comm, rank);
}

int MPI_Comm_size(int comm, int *size)
{
    return MPI_Comm_rank(comm, size);
}

int PMPI_Comm_size(int comm, int *size)
{
    return MPI_Comm_rank(comm, size);
}

int MPI_Finalize(void)
{
    return 0;
}
