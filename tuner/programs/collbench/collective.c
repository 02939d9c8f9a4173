// SPDX-License-Identifier: Apache-2.0
#include "collective.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

// Length of a buffer: nothing, `size` bytes, or `size` bytes per rank.
enum extent { NOTHING, ONE, PER_RANK };

struct collective_kind {
    const char *name;
    int (*call)(struct collective *c);
    enum extent send;
    enum extent recv;
    bool sums;      // the collective sums floats
    bool root_only; // only rank 0 receives data
};

static int floats(const struct collective *c)
{
    return (int)(c->size / sizeof(float));
}

static int bytes(const struct collective *c)
{
    return (int)c->size;
}

static int call_allgather(struct collective *c)
{
    return MPI_Allgather(c->send, bytes(c), MPI_BYTE, c->recv, bytes(c), MPI_BYTE, c->comm);
}

// All ranks' parts have the same size. Counts and displacements are in bytes.
static int call_allgatherv(struct collective *c)
{
    return MPI_Allgatherv(c->send, bytes(c), MPI_BYTE, c->recv, c->parts, c->places, MPI_BYTE, c->comm);
}

static int call_allreduce(struct collective *c)
{
    return MPI_Allreduce(c->send, c->recv, floats(c), MPI_FLOAT, MPI_SUM, c->comm);
}

static int call_alltoall(struct collective *c)
{
    return MPI_Alltoall(c->send, bytes(c), MPI_BYTE, c->recv, bytes(c), MPI_BYTE, c->comm);
}

static int call_alltoallv(struct collective *c)
{
    return MPI_Alltoallv(c->send, c->parts, c->places, MPI_BYTE, c->recv, c->parts, c->places, MPI_BYTE, c->comm);
}

static int call_barrier(struct collective *c)
{
    return MPI_Barrier(c->comm);
}

static int call_bcast(struct collective *c)
{
    return MPI_Bcast(c->recv, bytes(c), MPI_BYTE, 0, c->comm);
}

static int call_gather(struct collective *c)
{
    return MPI_Gather(c->send, bytes(c), MPI_BYTE, c->recv, bytes(c), MPI_BYTE, 0, c->comm);
}

static int call_reduce(struct collective *c)
{
    return MPI_Reduce(c->send, c->recv, floats(c), MPI_FLOAT, MPI_SUM, 0, c->comm);
}

static int call_reduce_scatter(struct collective *c)
{
    return MPI_Reduce_scatter(c->send, c->recv, c->parts, MPI_FLOAT, MPI_SUM, c->comm);
}

static int call_reduce_scatter_block(struct collective *c)
{
    return MPI_Reduce_scatter_block(c->send, c->recv, floats(c), MPI_FLOAT, MPI_SUM, c->comm);
}

static int call_scatter(struct collective *c)
{
    return MPI_Scatter(c->send, bytes(c), MPI_BYTE, c->recv, bytes(c), MPI_BYTE, 0, c->comm);
}

static const struct collective_kind kinds[] = {
    {"allgather", call_allgather, ONE, PER_RANK, false, false},
    {"allgatherv", call_allgatherv, ONE, PER_RANK, false, false},
    {"allreduce", call_allreduce, ONE, ONE, true, false},
    {"alltoall", call_alltoall, PER_RANK, PER_RANK, false, false},
    {"alltoallv", call_alltoallv, PER_RANK, PER_RANK, false, false},
    {"barrier", call_barrier, NOTHING, NOTHING, false, false},
    {"bcast", call_bcast, NOTHING, ONE, false, false},
    {"gather", call_gather, ONE, PER_RANK, false, true},
    {"reduce", call_reduce, ONE, ONE, true, true},
    {"reduce_scatter", call_reduce_scatter, ONE, ONE, true, false},
    {"reduce_scatter_block", call_reduce_scatter_block, PER_RANK, ONE, true, false},
    {"scatter", call_scatter, PER_RANK, ONE, false, false},
};

const char *collective_names(void)
{
    return "allgather, allgatherv, allreduce, alltoall, alltoallv, barrier, bcast, gather, reduce, reduce_scatter, "
           "reduce_scatter_block, scatter";
}

const char *collective_message(enum collective_status status)
{
    switch (status) {
    case COLLECTIVE_OK:
        return "no error";
    case COLLECTIVE_UNKNOWN:
        return "not a known collective";
    case COLLECTIVE_SIZE_ODD:
        return "sums 4-byte floats: give a size that is a multiple of 4";
    case COLLECTIVE_SIZE_LARGE:
        return "needs more than 1 GiB in one rank at this size: give a smaller size or fewer ranks";
    case COLLECTIVE_NO_MEMORY:
        return "not enough memory for this size: give a smaller size";
    }
    return "unknown error";
}

static size_t length(const struct collective *c, enum extent extent)
{
    switch (extent) {
    case ONE:
        return c->size;
    case PER_RANK:
        return c->size * (size_t)c->ranks;
    case NOTHING:
        break;
    }
    return 0;
}

static bool is(const struct collective *c, const char *name)
{
    return strcmp(c->kind->name, name) == 0;
}

static void share_out(struct collective *c)
{
    int total = floats(c);

    for (int rank = 0; rank < c->ranks; rank++) {
        c->parts[rank] = is(c, "reduce_scatter") ? total / c->ranks + (rank < total % c->ranks) : bytes(c);
        c->places[rank] = rank * bytes(c);
    }
}

enum collective_status collective_open(struct collective *c, const char *name, size_t size, MPI_Comm comm)
{
    memset(c, 0, sizeof *c);
    for (size_t i = 0; i < sizeof kinds / sizeof kinds[0]; i++) {
        if (strcmp(kinds[i].name, name) == 0)
            c->kind = &kinds[i];
    }
    if (!c->kind)
        return COLLECTIVE_UNKNOWN;
    c->comm = comm;
    c->size = size;
    MPI_Comm_rank(comm, &c->rank);
    MPI_Comm_size(comm, &c->ranks);
    if (c->kind->sums && size % sizeof(float))
        return COLLECTIVE_SIZE_ODD;
    if (size > COLLECTIVE_BUFFER_MAX / (size_t)c->ranks)
        return COLLECTIVE_SIZE_LARGE;
    // Allocate one byte more than necessary, because malloc(0) may return NULL.
    c->send = malloc(length(c, c->kind->send) + 1);
    c->recv = malloc(length(c, c->kind->recv) + 1);
    c->parts = malloc((size_t)c->ranks * sizeof *c->parts);
    c->places = malloc((size_t)c->ranks * sizeof *c->places);
    if (!c->send || !c->recv || !c->parts || !c->places) {
        collective_close(c);
        return COLLECTIVE_NO_MEMORY;
    }
    share_out(c);
    collective_fill(c);
    return COLLECTIVE_OK;
}

void collective_close(struct collective *c)
{
    free(c->send);
    free(c->recv);
    free(c->parts);
    free(c->places);
    c->send = c->recv = NULL;
    c->parts = c->places = NULL;
}

int collective_call(struct collective *c)
{
    return c->kind->call(c);
}

// Return byte `i` of the data that rank `from` sends to rank `to`.
static unsigned char sample_byte(int from, int to, size_t i)
{
    return (unsigned char)(from * 37 + to * 11 + (int)(i % 251) + 1);
}

// Return float `i` of the data of rank `from`. It is a small integer, because floats represent sums of small integers
// exactly, whatever the order of the additions.
static float sample_float(int from, size_t i)
{
    return (float)(((size_t)from + i) % 8);
}

void collective_fill(struct collective *c)
{
    int parts = c->kind->send == PER_RANK ? c->ranks : c->kind->send == ONE;

    memset(c->recv, 0, length(c, c->kind->recv));
    if (is(c, "bcast") && c->rank == 0) {
        for (size_t i = 0; i < c->size; i++)
            c->recv[i] = (char)sample_byte(0, 0, i);
    }
    for (int to = 0; to < parts && !c->kind->sums; to++) {
        for (size_t i = 0; i < c->size; i++)
            c->send[(size_t)to * c->size + i] = (char)sample_byte(c->rank, to, i);
    }
    for (size_t i = 0; c->kind->sums && i < length(c, c->kind->send) / sizeof(float); i++) {
        float value = sample_float(c->rank, i);
        memcpy(c->send + i * sizeof value, &value, sizeof value);
    }
}

static int verify_sums(const struct collective *c)
{
    size_t first = 0;
    size_t count = c->size / sizeof(float);

    if (is(c, "reduce_scatter")) {
        for (int rank = 0; rank < c->rank; rank++)
            first += (size_t)c->parts[rank];
        count = (size_t)c->parts[c->rank];
    }
    if (is(c, "reduce_scatter_block"))
        first = count * (size_t)c->rank;
    for (size_t i = 0; i < count; i++) {
        float expected = 0;
        float arrived;
        for (int from = 0; from < c->ranks; from++)
            expected += sample_float(from, first + i);
        memcpy(&arrived, c->recv + i * sizeof arrived, sizeof arrived);
        if (arrived != expected)
            return -1;
    }
    return 0;
}

int collective_verify(const struct collective *c)
{
    bool from_root = is(c, "bcast") || is(c, "scatter");
    bool addressed = is(c, "alltoall") || is(c, "alltoallv") || is(c, "scatter"); // each receiver gets different data
    size_t parts = c->kind->recv == PER_RANK ? (size_t)c->ranks : c->kind->recv == ONE;

    if (c->kind->root_only && c->rank != 0)
        return 0;
    if (c->kind->sums)
        return verify_sums(c);
    for (size_t part = 0; part < parts; part++) {
        for (size_t i = 0; i < c->size; i++) {
            unsigned char expected = sample_byte(from_root ? 0 : (int)part, addressed ? c->rank : 0, i);
            if ((unsigned char)c->recv[part * c->size + i] != expected)
                return -1;
        }
    }
    return 0;
}
