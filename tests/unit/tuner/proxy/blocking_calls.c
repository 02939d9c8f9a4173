// SPDX-License-Identifier: Apache-2.0
// Communicates by blocking calls, in all the ways that EZTrace 2.0 records completely. Runs on four ranks; with an
// argument, uses only one communicator.
#include <mpi.h>

enum { RANKS = 4, ROOM = 256 };

static double from[ROOM];
static double to[ROOM];

static void messages(int rank, MPI_Comm half)
{
    int right = (rank + 1) % RANKS;
    int left = (rank + RANKS - 1) % RANKS;

    for (int i = 0; i < 5; i++) {
        if (rank % 2) {
            MPI_Ssend(from, 10 + rank, MPI_DOUBLE, right, 7, MPI_COMM_WORLD);
            MPI_Recv(to, ROOM, MPI_DOUBLE, MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        } else {
            MPI_Recv(to, ROOM, MPI_DOUBLE, left, 7, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
            MPI_Send(from, 10 + rank, MPI_DOUBLE, right, 9, MPI_COMM_WORLD);
        }
    }
    MPI_Send(from, 0, MPI_INT, MPI_PROC_NULL, 0, MPI_COMM_WORLD);
    if (half == MPI_COMM_WORLD)
        return;
    if (rank < 2)
        MPI_Send(from, 3, MPI_FLOAT, 0, 1, half); // to rank 2 or 3, because the higher ranks come first in `half`
    else
        MPI_Recv(to, 3, MPI_FLOAT, 1, 1, half, MPI_STATUS_IGNORE);
}

static void collectives(int rank, MPI_Comm half)
{
    int counts[RANKS] = {1, 2, 3, 4};
    int places[RANKS] = {0, 1, 3, 6};
    MPI_Comm world = MPI_COMM_WORLD;

    for (int i = 0; i < 3; i++) {
        MPI_Allgatherv(from, counts[rank], MPI_DOUBLE, to, counts, places, MPI_DOUBLE, world);
        MPI_Gatherv(from, counts[rank], MPI_DOUBLE, to, counts, places, MPI_DOUBLE, 1, world);
        MPI_Scatterv(from, counts, places, MPI_DOUBLE, to, counts[rank], MPI_DOUBLE, 1, world);
        MPI_Allreduce(MPI_IN_PLACE, to, 40, MPI_FLOAT, MPI_MAX, half);
    }
    MPI_Alltoall(from, 2, MPI_DOUBLE, to, 2, MPI_DOUBLE, world);
    MPI_Allgather(from, 3, MPI_DOUBLE, to, 3, MPI_DOUBLE, world);
    MPI_Reduce(from, to, 2, MPI_DOUBLE, MPI_SUM, 3, world);
    MPI_Gather(from, 3, MPI_DOUBLE, to, 3, MPI_DOUBLE, 2, world);
    MPI_Scatter(from, 3, MPI_DOUBLE, to, 3, MPI_DOUBLE, 2, world);
    MPI_Bcast(to, 5, MPI_INT, 1, half);
    MPI_Barrier(world);
}

int main(int argc, char **argv)
{
    int rank;
    MPI_Comm half = MPI_COMM_WORLD;

    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    if (argc == 1)
        MPI_Comm_split(MPI_COMM_WORLD, rank % 2, -rank, &half);
    messages(rank, half);
    collectives(rank, half);
    if (half != MPI_COMM_WORLD)
        MPI_Comm_free(&half);
    MPI_Finalize();
    return 0;
}
