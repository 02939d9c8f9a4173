// SPDX-License-Identifier: Apache-2.0
// What the witness asks MPI while it holds its lock, with what ODD_SIZES says: `slow`, a thread that is not running;
// `abort`, a signal handler that ends the job.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <mpi.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

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
    return real(type, size);
}
