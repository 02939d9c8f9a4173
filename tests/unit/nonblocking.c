// SPDX-License-Identifier: Apache-2.0
// Runs non-blocking collectives on known data; reductions use an operation that does not commute (the product of 2x2
// matrices modulo 101). Prints the name of each collective that gives a wrong result.
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { CELLS = 4, MODULUS = 101, COUNT_MAX = 40000 };
static const int counts[] = {1, 3, 17, 1000, COUNT_MAX};
static const char *const names[] = {"iallreduce", "ireduce", "iscan", "iexscan", "ibcast", "iallgather"};
enum { KINDS = sizeof names / sizeof *names };

static long mine[COUNT_MAX * CELLS], got[COUNT_MAX * CELLS], want[COUNT_MAX * CELLS], other[COUNT_MAX * CELLS];

static void multiply(void *left, void *both, int *count, MPI_Datatype *type)
{
    long *a = left;
    long *b = both;
    (void)type;
    for (int i = 0; i < *count; i++, a += CELLS, b += CELLS) {
        const long c[CELLS] = {a[0] * b[0] + a[1] * b[2], a[0] * b[1] + a[1] * b[3], a[2] * b[0] + a[3] * b[2],
                               a[2] * b[1] + a[3] * b[3]};
        for (int k = 0; k < CELLS; k++)
            b[k] = c[k] % MODULUS;
    }
}

static void fill(long *cells, int rank, int count)
{
    for (int i = 0; i < count; i++, cells += CELLS) {
        cells[0] = (rank * 3 + i) % 7 + 1;
        cells[1] = (rank + i) % 5 + 1;
        cells[2] = rank % 3 + 1;
        cells[3] = (rank * 2 + i) % 11 + 1;
    }
}

// Computes in `want` the product of the matrices of ranks 0 to `last`.
static void product(int last, int count)
{
    fill(want, last, count);
    for (int rank = last - 1; rank >= 0; rank--) {
        fill(other, rank, count);
        multiply(other, want, &count, NULL);
    }
}

static int differs(MPI_Request *request, int count)
{
    MPI_Wait(request, MPI_STATUS_IGNORE);
    return memcmp(got, want, (size_t)count * CELLS * sizeof *got) != 0;
}

static void reductions(MPI_Datatype type, MPI_Op op, int count, int rank, int ranks, int wrong[KINDS])
{
    MPI_Request request;
    fill(mine, rank, count);
    product(ranks - 1, count);
    MPI_Iallreduce(mine, got, count, type, op, MPI_COMM_WORLD, &request);
    wrong[0] |= differs(&request, count);
    memcpy(got, mine, sizeof got);
    MPI_Iallreduce(MPI_IN_PLACE, got, count, type, op, MPI_COMM_WORLD, &request);
    wrong[0] |= differs(&request, count);
    MPI_Ireduce(mine, got, count, type, op, 0, MPI_COMM_WORLD, &request);
    wrong[1] |= differs(&request, count) && rank == 0;
    memcpy(got, mine, sizeof got);
    MPI_Ireduce(rank ? got : MPI_IN_PLACE, rank ? NULL : got, count, type, op, 0, MPI_COMM_WORLD, &request);
    wrong[1] |= differs(&request, count) && rank == 0;
    product(rank, count);
    MPI_Iscan(mine, got, count, type, op, MPI_COMM_WORLD, &request);
    wrong[2] |= differs(&request, count);
    product(rank ? rank - 1 : 0, count);
    MPI_Iexscan(mine, got, count, type, op, MPI_COMM_WORLD, &request);
    wrong[3] |= differs(&request, count) && rank > 0;
}

static void movements(MPI_Datatype type, int count, int rank, int ranks, int wrong[KINDS])
{
    MPI_Request request;
    fill(want, 0, count);
    fill(got, rank, count);
    MPI_Ibcast(got, count, type, 0, MPI_COMM_WORLD, &request);
    wrong[4] |= differs(&request, count);
    const int part = COUNT_MAX / ranks < count ? COUNT_MAX / ranks : count;
    fill(mine, rank, part);
    for (int from = 0; from < ranks; from++)
        fill(want + (size_t)from * (size_t)part * CELLS, from, part);
    MPI_Iallgather(mine, part, type, got, part, type, MPI_COMM_WORLD, &request);
    wrong[5] |= differs(&request, part * ranks);
}

int main(int argc, char **argv)
{
    int rank;
    int ranks;
    int wrong[KINDS] = {0};
    int any[KINDS];
    MPI_Datatype type;
    MPI_Op op;

    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    MPI_Type_contiguous(CELLS, MPI_LONG, &type);
    MPI_Type_commit(&type);
    MPI_Op_create(multiply, 0, &op);
    for (size_t i = 0; i < sizeof counts / sizeof *counts; i++) {
        reductions(type, op, counts[i], rank, ranks, wrong);
        movements(type, counts[i], rank, ranks, wrong);
    }
    MPI_Reduce(wrong, any, KINDS, MPI_INT, MPI_MAX, 0, MPI_COMM_WORLD);
    for (int kind = 0; kind < KINDS && rank == 0; kind++) {
        if (any[kind])
            puts(names[kind]);
    }
    MPI_Op_free(&op);
    MPI_Type_free(&type);
    MPI_Finalize();
    return 0;
}
