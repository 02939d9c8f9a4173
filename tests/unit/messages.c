// SPDX-License-Identifier: Apache-2.0
// Each rank exchanges messages of many sizes with a neighbor, and checks the received bytes. The exit status is 1 if
// any byte is wrong.
#include <mpi.h>
#include <stdlib.h>
#include <string.h>

static int exchange(size_t size, int rank, int peer, int round)
{
    int wrong = 0;
    char *sent = malloc(size);
    char *got = malloc(size);
    MPI_Request requests[2];
    if (!sent || !got)
        MPI_Abort(MPI_COMM_WORLD, 2);
    memset(sent, rank + round + 1, size);
    memset(got, 0, size);
    MPI_Irecv(got, (int)size, MPI_BYTE, peer, 0, MPI_COMM_WORLD, &requests[0]);
    MPI_Isend(sent, (int)size, MPI_BYTE, peer, 0, MPI_COMM_WORLD, &requests[1]);
    MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
    for (size_t i = 0; i < size; i++)
        wrong |= got[i] != (char)(peer + round + 1);
    free(sent);
    free(got);
    return wrong;
}

int main(int argc, char **argv)
{
    static const size_t sizes[] = {1, 1000, 4000, 5000, 33000, 65000, 66000, 131000, 140000, 262000, 600000, 3000000};
    int rank;
    int wrong = 0;
    int any = 0;

    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    for (int round = 0; round < 3; round++) {
        for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++)
            wrong |= exchange(sizes[i], rank, rank ^ 1, round);
    }
    MPI_Allreduce(&wrong, &any, 1, MPI_INT, MPI_MAX, MPI_COMM_WORLD);
    MPI_Finalize();
    return any;
}
