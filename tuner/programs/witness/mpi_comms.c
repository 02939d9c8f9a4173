// SPDX-License-Identifier: Apache-2.0
// Communicators, each with an identifier that is equal on all members. The members compute the identifier without
// communication, as a hash of the parent's identifier, the sequence number of the creating call, and the members. The
// sequence number is equal on all members, because all ranks of a communicator call its creating functions in the same
// order.
#define _GNU_SOURCE
#include <stdlib.h>
#include <string.h>

#include "clock.h"
#include "mpi_next.h"
#include "mpi_state.h"
#include "table.h"
#include "trace.h"

enum { FIRST_SEEN = 0x5ee9 }; // used instead of the parent's identifier if the creation was not observed

static MPI_Comm world, self, none;

static void know_constants(void)
{
    if (!world) {
        world = WORLD;
        self = SELF;
        none = NO_COMM;
    }
}

static uint64_t hash_members(const int *members, int size)
{
    uint64_t hash = mix(0x9e37, (uint64_t)size);

    for (int i = 0; i < size; i++)
        hash = mix(hash, (uint64_t)(int64_t)members[i]);
    return hash ? hash : 1;
}

// Return the ranks in MPI_COMM_WORLD of a communicator's members; NULL if the ranks cannot be determined. The caller
// must free the result.
static int *members_of(MPI_Comm handle, bool is_remote, int size)
{
    __typeof__(&MPI_Group_translate_ranks) translate = NEXT(PMPI_Group_translate_ranks);
    __typeof__(&MPI_Comm_group) group_of = NEXT(PMPI_Comm_group);
    __typeof__(&MPI_Comm_remote_group) remote_of = NEXT(PMPI_Comm_remote_group);
    __typeof__(&MPI_Group_free) leave = NEXT(PMPI_Group_free);
    MPI_Group all, own;

    if (!translate || !group_of || !remote_of || !leave || size <= 0 || group_of(world, &all) != MPI_SUCCESS)
        return NULL;
    int *ranks = malloc(2 * (size_t)size * sizeof(*ranks));
    int *members = NULL;
    if (ranks && (is_remote ? remote_of : group_of)(handle, &own) == MPI_SUCCESS) {
        for (int i = 0; i < size; i++)
            ranks[size + i] = i;
        if (translate(own, size, ranks + size, all, ranks) == MPI_SUCCESS) {
            members = ranks;
            for (int i = 0; i < size; i++)
                members[i] = members[i] == MPI_UNDEFINED ? -1 : members[i];
        }
        leave(&own);
    }
    leave(&all);
    if (!members)
        free(ranks);
    return members;
}

// Return the index of a group's entry in `shapes`, and take ownership of `members`. If no entry is free for a group,
// the index is 0, which all such groups share.
static uint32_t shape_of(int *members, int size, int rank)
{
    struct mpi_state *mpi = mpi_state();
    uint64_t id = members ? hash_members(members, size) : 0;

    for (uint32_t i = 1; id && i < SHAPES_MAX; i++) {
        struct shape *shape = &mpi->shapes[i];
        if (shape->id == id) {
            free(members);
            return i;
        }
        if (shape->id)
            continue;
        if (mpi->members + size > MEMBERS_MAX)
            break;
        *shape = (struct shape){.id = id, .size = size, .rank = rank, .members = members, .is_known = true};
        shape->is_world = size == mpi->ranks;
        for (int at = 0; at < size && shape->is_world; at++)
            shape->is_world = members[at] == at;
        if (shape->is_world) {
            free(members);
            shape->members = NULL;
        } else {
            mpi->members += size;
        }
        return i;
    }
    free(members);
    return 0;
}

static struct comm *place_of(uint64_t handle)
{
    struct mpi_state *mpi = mpi_state();
    uint32_t at = (uint32_t)mix(handle, 1) % COMMS_MAX;

    for (uint32_t i = 0; i < COMMS_MAX; i++, at = (at + 1) % COMMS_MAX)
        if (mpi->comms[at].handle == handle || !mpi->comms[at].handle)
            return &mpi->comms[at];
    return NULL;
}

static void define(const struct comm *comm, uint64_t parent)
{
    const struct shape *shape = &mpi_state()->shapes[comm->shape];
    int size = shape->is_known ? shape->size : 0;
    int64_t *values = *witness_trace && size ? malloc((size_t)size * sizeof(*values)) : NULL;

    if (!values)
        return;
    for (int i = 0; i < size; i++)
        values[i] = comms_world_rank(comm, i);
    const uint64_t now = clock_ticks();
    struct trace_event event = {
        .enter = now,
        .leave = now,
        .send_bytes = comm->id,
        .recv_bytes = parent,
        .comm = comm->number,
        .peer = comm->rank,
        .tag = TRACE_NONE,
        .source = TRACE_NONE,
        .recv_tag = TRACE_NONE,
        .values = (uint32_t)size,
        .kind = KIND_comm_define,
    };
    trace_add(&event, values);
    free(values);
}

void comms_ask(MPI_Comm handle, struct comm *comm)
{
    __typeof__(&MPI_Comm_size) get_size = NEXT(PMPI_Comm_size);
    __typeof__(&MPI_Comm_remote_size) get_remote_size = NEXT(PMPI_Comm_remote_size);
    __typeof__(&MPI_Comm_rank) get_rank = NEXT(PMPI_Comm_rank);
    __typeof__(&MPI_Comm_test_inter) test_inter = NEXT(PMPI_Comm_test_inter);
    int size = 0, peers = 0, rank = -1, is_inter = 0;

    *comm = (struct comm){.rank = -1};
    know_constants();
    if (!handle || handle == none || !get_size || !get_rank || !test_inter || !get_remote_size ||
        test_inter(handle, &is_inter) != MPI_SUCCESS || get_rank(handle, &rank) != MPI_SUCCESS ||
        get_size(handle, &size) != MPI_SUCCESS ||
        (is_inter ? get_remote_size : get_size)(handle, &peers) != MPI_SUCCESS)
        return;
    *comm = (struct comm){.rank = rank, .size = size, .peers = peers, .is_inter = is_inter};
}

// Record a communicator. `parent` is the communicator that `handle` was made from. `parent` is NULL if the creation of
// `handle` was not observed, or if only the members of `handle` called the creating function.
static struct comm *take(MPI_Comm handle, struct comm *parent)
{
    struct mpi_state *mpi = mpi_state();
    struct comm *comm = place_of((uint64_t)(uintptr_t)handle);
    struct comm asked = {0};

    if (!comm)
        return NULL;
    comms_ask(handle, &asked);
    if (asked.peers <= 0)
        return NULL;
    const int is_inter = asked.is_inter;
    uint32_t at = shape_of(members_of(handle, is_inter, asked.peers), asked.peers, is_inter ? -1 : asked.rank);
    struct shape *shape = &mpi->shapes[at];
    *comm = asked;
    comm->handle = (uint64_t)(uintptr_t)handle;
    comm->shape = at;
    if (handle == world || handle == self) {
        comm->number = handle == world ? 1 : 2;
        comm->id = mix(comm->number, shape->id);
    } else {
        comm->number = 3 + mpi->comm_numbers++;
        comm->id =
            parent ? mix(mix(parent->id, parent->made), shape->id) : mix(mix(FIRST_SEEN, shape->comms++), shape->id);
    }
    define(comm, parent ? parent->id : 0);
    return comm;
}

struct comm *comms_find(MPI_Comm handle)
{
    know_constants();
    if (!handle || handle == none)
        return NULL;
    struct comm *comm = place_of((uint64_t)(uintptr_t)handle);
    return comm && comm->handle ? comm : comm ? take(handle, NULL) : NULL;
}

struct comm *comms_known(MPI_Comm handle)
{
    struct comm *comm = place_of((uint64_t)(uintptr_t)handle);

    return comm && comm->handle ? comm : NULL;
}

void comms_made(struct comm *parent, MPI_Comm made)
{
    struct comm before = {0}; // copy of *parent, because comms_forget may move the parent's entry

    know_constants();
    if (parent) {
        parent->made++;
        before = *parent;
    }
    if (made == none)
        return;
    comms_forget(made);
    // An intercommunicator is not used as a parent, because its identifier differs between its two groups.
    take(made, parent && !parent->is_inter ? &before : NULL);
}

// Remove a communicator, and move up later entries where necessary, so that a search still finds all others.
void comms_forget(MPI_Comm handle)
{
    struct comm *comms = mpi_state()->comms;
    struct comm *found = place_of((uint64_t)(uintptr_t)handle);

    if (!found || !found->handle)
        return;
    uint32_t hole = (uint32_t)(found - comms);
    comms[hole].handle = 0;
    for (uint32_t i = 1, at = (hole + 1) % COMMS_MAX; i < COMMS_MAX && comms[at].handle;
         i++, at = (at + 1) % COMMS_MAX) {
        uint32_t home = (uint32_t)mix(comms[at].handle, 1) % COMMS_MAX;
        if ((at - home + COMMS_MAX) % COMMS_MAX >= (at - hole + COMMS_MAX) % COMMS_MAX) {
            comms[hole] = comms[at];
            comms[at].handle = 0;
            hole = at;
        }
    }
}

int comms_world_rank(const struct comm *comm, int rank)
{
    const struct shape *shape = comm ? &mpi_state()->shapes[comm->shape] : NULL;

    if (!shape || !shape->is_known || rank < 0 || rank >= shape->size)
        return -1;
    return shape->is_world ? rank : shape->members[rank];
}
