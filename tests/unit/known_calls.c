// SPDX-License-Identifier: Apache-2.0
// An MPI program with a known number of calls and bytes, for tests/unit/tuner/profile/test_witness_library.py.
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { DOUBLES = 100000, LATE_US = 1000000 };

static double *a, *b;
static int rank, size;

static void collectives(MPI_Comm half)
{
    int sent[64], received[64], places[64];

    for (int i = 0; i < 10; i++)
        MPI_Allreduce(a, b, 128, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
    MPI_Allreduce(MPI_IN_PLACE, b, 128, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
    for (int i = 0; i < 5; i++)
        MPI_Bcast(a, 1000, MPI_DOUBLE, 0, MPI_COMM_WORLD);
    for (int i = 0; i < 3; i++)
        MPI_Alltoall(a, 100, MPI_INT, b, 100, MPI_INT, MPI_COMM_WORLD);
    for (int i = 0; i < size; i++) {
        sent[i] = (i + 1) * 10;
        received[i] = (rank + 1) * 10;
        places[i] = i * 1000;
    }
    MPI_Alltoallv(a, sent, places, MPI_DOUBLE, b, received, places, MPI_DOUBLE, MPI_COMM_WORLD);
    // Calls collectives with invalid values for the arguments that MPI ignores on a rank.
    MPI_Gather(a, 8, MPI_CHAR, rank ? NULL : b, rank ? -7 : 8, rank ? MPI_DATATYPE_NULL : MPI_CHAR, 0, MPI_COMM_WORLD);
    for (int i = 0; i < 7; i++)
        MPI_Barrier(half);
    MPI_Request request;
    MPI_Iallreduce(a, b, 16, MPI_DOUBLE, MPI_SUM, half, &request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
}

static void messages(void)
{
    const int right = (rank + 1) % size, left = (rank + size - 1) % size;
    MPI_Request requests[2];

    for (int i = 0; i < 20; i++) {
        MPI_Irecv(b, 5000, MPI_DOUBLE, left, 3, MPI_COMM_WORLD, &requests[0]);
        MPI_Isend(a, 5000, MPI_DOUBLE, right, 3, MPI_COMM_WORLD, &requests[1]);
        MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
    }
    for (int i = 0; i < 4; i++)
        MPI_Sendrecv(a, 1, MPI_INT, right, 9, b, 1, MPI_INT, left, 9, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    MPI_Send_init(a, 3, MPI_DOUBLE, right, 4, MPI_COMM_WORLD, &requests[0]);
    MPI_Recv_init(b, 3, MPI_DOUBLE, left, 4, MPI_COMM_WORLD, &requests[1]);
    for (int i = 0; i < 6; i++) {
        MPI_Startall(2, requests);
        MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
    }
    MPI_Request_free(&requests[0]);
    MPI_Request_free(&requests[1]);
    if (rank == 0)
        MPI_Send(a, 10, MPI_CHAR, MPI_PROC_NULL, 0, MPI_COMM_WORLD);
}

static void neighbours(void)
{
    MPI_Comm ring;
    const int dims[1] = {size}, periods[1] = {1};

    MPI_Cart_create(MPI_COMM_WORLD, 1, dims, periods, 0, &ring);
    for (int i = 0; i < 2; i++)
        MPI_Neighbor_alltoall(a, 16, MPI_DOUBLE, b, 16, MPI_DOUBLE, ring);
    MPI_Comm_free(&ring);
}

// Rank 0 enters a barrier late and sends a message late, so that the other ranks wait in those calls.
static void late(void)
{
    MPI_Barrier(MPI_COMM_WORLD);
    if (rank == 0)
        usleep(LATE_US);
    MPI_Barrier(MPI_COMM_WORLD);
    if (rank == 0) {
        usleep(LATE_US);
        MPI_Send(a, 10, MPI_DOUBLE, 1, 1, MPI_COMM_WORLD);
    } else if (rank == 1) {
        MPI_Recv(b, 10, MPI_DOUBLE, 0, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    }
}

static void files(const char *name)
{
    MPI_File file;

    MPI_File_open(MPI_COMM_WORLD, name, MPI_MODE_CREATE | MPI_MODE_RDWR, MPI_INFO_NULL, &file);
    MPI_File_write_at_all(file, rank * 8000, a, 1000, MPI_DOUBLE, MPI_STATUS_IGNORE);
    MPI_File_close(&file);
}

int main(int argc, char **argv)
{
    MPI_Comm half;

    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    a = calloc(DOUBLES, sizeof(*a));
    b = calloc(DOUBLES, sizeof(*b));
    MPI_Comm_split(MPI_COMM_WORLD, rank % 2, rank, &half);
    collectives(half);
    MPI_Comm_free(&half);
    messages();
    neighbours();
    late();
    if (argc > 2)
        files(argv[2]);
    if (strcmp(argv[1], "abort") == 0 && rank == 1)
        MPI_Abort(MPI_COMM_WORLD, 3);
    if (strcmp(argv[1], "abort") == 0)
        sleep(30);
    MPI_Finalize();
    return 0;
}
