// SPDX-License-Identifier: Apache-2.0
// Communicates in all the ways that a replay supports, with different sizes on each of four ranks.
#include <mpi.h>

enum { RANKS = 4, ROOM = 256 };

static double from[ROOM];
static double to[ROOM];

static void messages(int rank)
{
    int right = (rank + 1) % RANKS;
    int left = (rank + RANKS - 1) % RANKS;
    int done = 0;
    MPI_Request requests[2];
    MPI_Datatype column;

    MPI_Irecv(to, ROOM, MPI_DOUBLE, MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &requests[0]);
    MPI_Isend(from, 10 + rank, MPI_DOUBLE, right, 7, MPI_COMM_WORLD, &requests[1]);
    MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
    MPI_Send_init(from, 11, MPI_DOUBLE, right, 8, MPI_COMM_WORLD, &requests[0]);
    MPI_Recv_init(to, 11, MPI_DOUBLE, left, 8, MPI_COMM_WORLD, &requests[1]);
    for (int i = 0; i < 5; i++) {
        MPI_Startall(2, requests);
        MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
    }
    MPI_Request_free(&requests[0]);
    MPI_Request_free(&requests[1]);
    MPI_Type_vector(8, 1, 4, MPI_DOUBLE, &column);
    MPI_Type_commit(&column);
    if (rank % 2) {
        MPI_Ssend(from, 2, column, left, 9, MPI_COMM_WORLD);
        MPI_Send(from, 0, MPI_INT, MPI_PROC_NULL, 0, MPI_COMM_WORLD);
    } else {
        MPI_Recv(to, 3, column, MPI_ANY_SOURCE, 9, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    }
    MPI_Sendrecv(from, 3, MPI_DOUBLE, right, 1, to, ROOM, MPI_DOUBLE, left, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    MPI_Irecv(to, 1, MPI_INT, MPI_ANY_SOURCE, 99, MPI_COMM_WORLD, &requests[0]); // no rank sends this message
    MPI_Cancel(&requests[0]);
    MPI_Wait(&requests[0], MPI_STATUS_IGNORE);
    MPI_Iallreduce(from, to, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD, &requests[0]);
    MPI_Ibcast(to + 8, 3, MPI_DOUBLE, 2, MPI_COMM_WORLD, &requests[1]);
    MPI_Wait(&requests[1], MPI_STATUS_IGNORE);
    while (!done)
        MPI_Test(&requests[0], &done, MPI_STATUS_IGNORE);
    MPI_Type_free(&column);
}

static void collectives(int rank, MPI_Comm half)
{
    int counts[RANKS] = {1, 2, 3, 4};
    int places[RANKS] = {0, 1, 3, 6};
    int sent[RANKS];
    int received[RANKS];
    int apart[RANKS];
    MPI_Comm world = MPI_COMM_WORLD;

    for (int i = 0; i < RANKS; i++) {
        sent[i] = 1 + rank + 2 * i;
        received[i] = 1 + i + 2 * rank;
        apart[i] = 16 * i;
    }
    for (int i = 0; i < 3; i++) {
        MPI_Allgatherv(from, counts[rank], MPI_DOUBLE, to, counts, places, MPI_DOUBLE, world);
        MPI_Gatherv(from, counts[rank], MPI_DOUBLE, to, counts, places, MPI_DOUBLE, 1, world);
        MPI_Scatterv(from, counts, places, MPI_DOUBLE, to, counts[rank], MPI_DOUBLE, 1, world);
        MPI_Alltoallv(from, sent, apart, MPI_DOUBLE, to, received, apart, MPI_DOUBLE, world);
        MPI_Reduce_scatter(from, to, counts, MPI_DOUBLE, MPI_SUM, world);
        MPI_Allreduce(MPI_IN_PLACE, to, 40, MPI_FLOAT, MPI_MAX, half);
    }
    MPI_Alltoall(from, 2, MPI_DOUBLE, to, 2, MPI_DOUBLE, world);
    MPI_Allgather(from, 3, MPI_DOUBLE, to, 3, MPI_DOUBLE, world);
    MPI_Reduce(from, to, 2, MPI_DOUBLE, MPI_SUM, 3, world);
    MPI_Gather(from, 3, MPI_DOUBLE, to, 3, MPI_DOUBLE, 2, world);
    MPI_Scatter(from, 3, MPI_DOUBLE, to, 3, MPI_DOUBLE, 2, world);
    MPI_Reduce_scatter_block(from, to, 3, MPI_INT, MPI_SUM, world);
    MPI_Scan(from, to, 2, MPI_DOUBLE, MPI_SUM, world);
    MPI_Exscan(from, to, 2, MPI_DOUBLE, MPI_SUM, world);
    MPI_Bcast(to, 5, MPI_INT, 1, half);
    MPI_Barrier(world);
}

int main(int argc, char **argv)
{
    int rank;
    int period = 1;
    int size = RANKS;
    MPI_Comm half;
    MPI_Comm ring;
    MPI_Comm copy;

    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    for (int i = 0; i < 3; i++) {
        MPI_Comm_split(MPI_COMM_WORLD, rank % 2, -rank, &half);
        MPI_Comm_dup(half, &copy);
        MPI_Barrier(copy);
        MPI_Comm_free(&copy);
        MPI_Comm_free(&half);
    }
    MPI_Comm_split(MPI_COMM_WORLD, rank % 2, -rank, &half);
    MPI_Cart_create(MPI_COMM_WORLD, 1, &size, &period, 0, &ring);
    MPI_Barrier(ring);
    messages(rank);
    collectives(rank, half);
    MPI_Finalize();
    return 0;
}
