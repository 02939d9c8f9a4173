// SPDX-License-Identifier: Apache-2.0
// Makes neighborhood collectives of all kinds on four ranks, in each kind of topology.
#include <mpi.h>

enum { RANKS = 4, ROOM = 256, SETS = 2 };

static double from[ROOM];
static double to[ROOM];

// The neighbors of a grid of 2 x 2 that wraps around in one dimension: one of them is a neighbor twice.
static void on_grid(void)
{
    int sizes[2] = {2, 2};
    int periods[2] = {1, 0};
    MPI_Comm grid;

    MPI_Cart_create(MPI_COMM_WORLD, 2, sizes, periods, 0, &grid);
    for (int i = 0; i < 5; i++)
        MPI_Neighbor_alltoall(from, 3, MPI_DOUBLE, to, 3, MPI_DOUBLE, grid);
    MPI_Neighbor_allgather(from, 2, MPI_INT, to, 2, MPI_INT, grid);
    MPI_Comm_free(&grid);
}

static void in_graph(int rank)
{
    static const int ends[RANKS] = {2, 4, 6, 8};
    static const int edges[2 * RANKS] = {1, 3, 0, 2, 1, 3, 0, 2}; // a ring
    int counts[2] = {edges[2 * rank] + 1, edges[(2 * rank) + 1] + 1};
    int places[2] = {0, 16};
    MPI_Comm graph;
    MPI_Request request;

    MPI_Graph_create(MPI_COMM_WORLD, RANKS, ends, edges, 0, &graph);
    MPI_Neighbor_allgatherv(from, rank + 1, MPI_DOUBLE, to, counts, places, MPI_DOUBLE, graph);
    MPI_Ineighbor_alltoall(from, 5, MPI_DOUBLE, to, 5, MPI_DOUBLE, graph, &request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    MPI_Comm_free(&graph);
}

// Each rank sends to the two next ranks, and receives from the two previous ones. One rank has no neighbors.
static void in_distributed_graph(int rank)
{
    int next[2] = {(rank + 1) % (RANKS - 1), (rank + 2) % (RANKS - 1)};
    int previous[2] = {(rank + 2) % (RANKS - 1), (rank + 1) % (RANKS - 1)};
    int sent[2] = {rank + 1, rank + 9};
    int received[2] = {previous[0] + 1, previous[1] + 9};
    int places[2] = {0, 32};
    int weights[2] = {1, 2};
    MPI_Aint bytes[2] = {0, 256};
    MPI_Datatype types[2] = {MPI_DOUBLE, MPI_INT};
    int degree = rank == RANKS - 1 ? 0 : 2;
    MPI_Comm graph;
    MPI_Request requests[SETS];

    MPI_Dist_graph_create_adjacent(MPI_COMM_WORLD, degree, previous, weights, degree, next, weights, MPI_INFO_NULL, 0,
                                   &graph);
    for (int i = 0; i < 5; i++) {
        MPI_Ineighbor_alltoallv(from, sent, places, MPI_DOUBLE, to, received, places, MPI_DOUBLE, graph, &requests[0]);
        MPI_Ineighbor_alltoallv(from, sent, places, MPI_INT, to + 128, received, places, MPI_INT, graph, &requests[1]);
        MPI_Waitall(SETS, requests, MPI_STATUSES_IGNORE);
    }
    MPI_Neighbor_alltoallw(from, sent, bytes, types, to, received, bytes, types, graph);
    MPI_Comm_free(&graph);
}

int main(int argc, char **argv)
{
    int rank;

    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    on_grid();
    in_graph(rank);
    in_distributed_graph(rank);
    MPI_Finalize();
    return 0;
}
