// SPDX-License-Identifier: Apache-2.0
#include "world.h"

#ifdef WITH_MPI

#include <mpi.h>

struct world world_begin(int *argc, char ***argv)
{
    struct world world;
    int provided;

    MPI_Init_thread(argc, argv, MPI_THREAD_FUNNELED, &provided);
    MPI_Comm_rank(MPI_COMM_WORLD, &world.rank);
    MPI_Comm_size(MPI_COMM_WORLD, &world.ranks);
    return world;
}

void world_meet(void)
{
    MPI_Barrier(MPI_COMM_WORLD);
}

int world_least(int value)
{
    MPI_Allreduce(MPI_IN_PLACE, &value, 1, MPI_INT, MPI_MIN, MPI_COMM_WORLD);
    return value;
}

double world_largest(double value)
{
    MPI_Allreduce(MPI_IN_PLACE, &value, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
    return value;
}

uint64_t world_sum(uint64_t value)
{
    MPI_Allreduce(MPI_IN_PLACE, &value, 1, MPI_UINT64_T, MPI_SUM, MPI_COMM_WORLD);
    return value;
}

void world_end(void)
{
    MPI_Finalize();
}

#else

struct world world_begin(int *argc, char ***argv)
{
    (void)argc;
    (void)argv;
    return (struct world){0, 1};
}

void world_meet(void)
{
}

int world_least(int value)
{
    return value;
}

double world_largest(double value)
{
    return value;
}

uint64_t world_sum(uint64_t value)
{
    return value;
}

void world_end(void)
{
}

#endif
