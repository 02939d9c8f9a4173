// SPDX-License-Identifier: Apache-2.0
// Finds the neighbors of this rank in a communicator's topology, which neighborhood collectives communicate with.
#define _GNU_SOURCE
#include <stdlib.h>

#include "mpi_next.h"
#include "mpi_state.h"

static int topology(MPI_Comm comm)
{
    __typeof__(&MPI_Topo_test) test = NEXT(PMPI_Topo_test);
    int kind = MPI_UNDEFINED;

    return test && test(comm, &kind) == MPI_SUCCESS ? kind : MPI_UNDEFINED;
}

static int dimensions(MPI_Comm comm)
{
    __typeof__(&MPI_Cartdim_get) get = NEXT(PMPI_Cartdim_get);
    int count = 0;

    return get && get(comm, &count) == MPI_SUCCESS ? count : 0;
}

void neighbors_count(struct mpi_call *call)
{
    __typeof__(&MPI_Dist_graph_neighbors_count) dist_count = NEXT(PMPI_Dist_graph_neighbors_count);
    __typeof__(&MPI_Graph_neighbors_count) graph_count = NEXT(PMPI_Graph_neighbors_count);
    int in = 0;
    int out = 0;
    int is_weighted;

    // For a null communicator, MPI would call the program's error handler; only the program's own calls may cause that.
    if (call->comm.rank < 0 || call->comm.is_inter)
        return;
    switch (topology(call->handle)) {
    case MPI_CART:
        in = out = 2 * dimensions(call->handle);
        break;
    case MPI_GRAPH:
        if (graph_count && graph_count(call->handle, call->comm.rank, &out) == MPI_SUCCESS)
            in = out;
        break;
    case MPI_DIST_GRAPH:
        if (dist_count)
            dist_count(call->handle, &in, &out, &is_weighted);
        break;
    default:
        break;
    }
    call->in = in > 0 ? in : 0;
    call->out = out > 0 ? out : 0;
}

// In each dimension, the neighbor in negative direction comes first.
static bool find_on_grid(const struct mpi_call *call, int *to, int *from)
{
    __typeof__(&MPI_Cart_shift) shift = NEXT(PMPI_Cart_shift);

    for (int i = 0; i < call->out / 2; i++) {
        if (!shift || shift(call->handle, i, 1, &to[2 * i], &to[2 * i + 1]) != MPI_SUCCESS)
            return false;
        from[2 * i] = to[2 * i];
        from[2 * i + 1] = to[2 * i + 1];
    }
    return true;
}

static bool find_in_graph(const struct mpi_call *call, int *to, int *from)
{
    __typeof__(&MPI_Graph_neighbors) find = NEXT(PMPI_Graph_neighbors);

    return find && find(call->handle, call->comm.rank, call->out, to) == MPI_SUCCESS &&
           find(call->handle, call->comm.rank, call->in, from) == MPI_SUCCESS;
}

static bool find_in_distributed_graph(const struct mpi_call *call, int *to, int *from)
{
    __typeof__(&MPI_Dist_graph_neighbors) find = NEXT(PMPI_Dist_graph_neighbors);
    int *weights = malloc((size_t)(call->in + call->out) * sizeof(*weights) + 1);
    const bool is_found = find && weights &&
                          find(call->handle, call->in, from, weights, call->out, to, weights + call->in) == MPI_SUCCESS;

    free(weights);
    return is_found;
}

bool neighbors_find(const struct mpi_call *call, int *to, int *from)
{
    switch (topology(call->handle)) {
    case MPI_CART:
        return find_on_grid(call, to, from);
    case MPI_GRAPH:
        return find_in_graph(call, to, from);
    case MPI_DIST_GRAPH:
        return find_in_distributed_graph(call, to, from);
    default:
        return false;
    }
}
