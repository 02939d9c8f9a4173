// SPDX-License-Identifier: Apache-2.0
// Replaces PMPI_Type_size, which the witness calls while it holds its lock. ODD_SIZES selects what happens during the
// call. `slow`: the thread is descheduled. `abort`: a signal handler ends the job. `free`: a handler makes and frees a
// request and a communicator. `test`: a handler tests for a message.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <mpi.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static void make_and_free(void)
{
    MPI_Comm comm;
    MPI_Request request;
    int value;

    MPI_Recv_init(&value, 1, MPI_INT, 0, 9, MPI_COMM_SELF, &request);
    MPI_Request_free(&request);
    MPI_Comm_dup(MPI_COMM_SELF, &comm);
    MPI_Comm_free(&comm);
}

static void look(void)
{
    MPI_Request request;
    int value = 0, is_there = 0;

    MPI_Isend(&value, 1, MPI_INT, 0, 9, MPI_COMM_SELF, &request);
    MPI_Recv(&value, 1, MPI_INT, 0, 9, MPI_COMM_SELF, MPI_STATUS_IGNORE);
    while (!is_there)
        MPI_Test(&request, &is_there, MPI_STATUS_IGNORE);
}

int PMPI_Type_size(MPI_Datatype type, int *size)
{
    static _Atomic int calls;
    __typeof__(&MPI_Type_size) real = (__typeof__(&MPI_Type_size))dlsym(RTLD_NEXT, "PMPI_Type_size");
    const char *word = getenv("ODD_SIZES");
    const int call = calls++;

    if (word && strcmp(word, "slow") == 0 && call % 10 == 0)
        usleep(2000);
    if (word && strcmp(word, "abort") == 0 && call == 10)
        MPI_Abort(MPI_COMM_WORLD, 9);
    if (word && strcmp(word, "free") == 0 && call == 10)
        make_and_free();
    if (word && strcmp(word, "test") == 0 && call == 10)
        look();
    return real(type, size);
}
