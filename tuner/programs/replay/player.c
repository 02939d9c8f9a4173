// SPDX-License-Identifier: Apache-2.0
#include "player.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "compute.h"
#include "elements.h"

// Maximum size of a buffer, in bytes. A mix that needs a larger buffer is damaged, because the recorded application had
// enough memory for its data. Without this limit, the process would be killed for lack of memory, without a message.
#define BUFFER_BYTES_MAX ((int64_t)1 << 36)

static int64_t larger(int64_t a, int64_t b)
{
    return a > b ? a : b;
}

// Compute how many bytes of buffers a step needs for the data that it sends and for the data that it receives.
static void needs(const struct mix *mix, const struct mix_step *step, int64_t *send, int64_t *receive)
{
    int size = mix->comms[step->comm].size;
    int64_t bytes = step->bytes > BUFFER_BYTES_MAX ? BUFFER_BYTES_MAX + 1 : step->bytes;
    int64_t all = bytes > BUFFER_BYTES_MAX / size ? BUFFER_BYTES_MAX + 1 : bytes * size;

    *send = *receive = 0;
    switch (step->kind) {
    case MIX_SEND:
    case MIX_SSEND:
    case MIX_ISEND:
    case MIX_ISSEND:
        *send = bytes;
        break;
    case MIX_SENDRECV:
        *send = bytes;
        *receive = step->source_bytes;
        break;
    case MIX_GATHER:
    case MIX_SCATTER:
    case MIX_ALLGATHER:
    case MIX_ALLTOALL:
    case MIX_REDUCE_SCATTER_BLOCK:
        *send = *receive = all;
        break;
    case MIX_GATHERV:
    case MIX_SCATTERV:
    case MIX_ALLGATHERV:
    case MIX_ALLTOALLV:
    case MIX_REDUCE_SCATTER:
        *send = *receive = larger(bytes, larger(step->sent.total, step->received.total));
        break;
    case MIX_WAIT:
    case MIX_BARRIER:
    case MIX_COMM_DUP:
    case MIX_COMM_SPLIT:
    case MIX_COMM_CREATE:
    case MIX_CART_CREATE:
    case MIX_COMM_FREE:
    case MIX_COMPUTE:
    case MIX_KINDS:
        break;
    default: // receives, bcast, and reductions whose result is a whole message
        *send = *receive = bytes;
    }
}

// Allocate a buffer and touch its pages, so that page faults do not add to the time of an MPI call.
static int allocate(struct player *p, int64_t bytes, void *buffer)
{
    void *made = bytes <= BUFFER_BYTES_MAX ? malloc((size_t)larger(bytes, 1)) : NULL;

    if (!made) {
        snprintf(p->error, sizeof(p->error), "no memory for a message of %lld bytes", (long long)bytes);
        return -1;
    }
    memset(made, 0, (size_t)larger(bytes, 1));
    *(void **)buffer = made;
    return 0;
}

static int open_buffers(struct player *p)
{
    const struct mix *mix = p->mix;
    int64_t most_sent = 0;
    int64_t most_received = 0;
    int most_waited = 1;
    int64_t *slot_bytes;

    for (int i = 0; i < mix->step_count; i++) {
        const struct mix_step *step = &mix->steps[i];
        p->slots = step->slot >= p->slots ? step->slot + 1 : p->slots;
        most_waited = step->waited_count > most_waited ? step->waited_count : most_waited;
        for (int k = 0; k < step->waited_count; k++)
            p->slots = step->waited[k] >= p->slots ? step->waited[k] + 1 : p->slots;
    }
    p->requests = calloc((size_t)p->slots + 1, sizeof(*p->requests));
    p->waited = calloc((size_t)most_waited, sizeof(*p->waited));
    p->slot_buffers = calloc((size_t)p->slots + 1, sizeof(*p->slot_buffers));
    slot_bytes = calloc((size_t)p->slots + 1, sizeof(*slot_bytes));
    if (!p->requests || !p->waited || !p->slot_buffers || !slot_bytes)
        goto no_memory;
    for (int i = 0; i < p->slots; i++)
        p->requests[i] = MPI_REQUEST_NULL;
    for (int i = 0; i < mix->step_count; i++) {
        const struct mix_step *step = &mix->steps[i];
        int64_t send;
        int64_t receive;
        if (step->type != MIX_CALL)
            continue;
        needs(mix, step, &send, &receive);
        most_sent = larger(most_sent, send);
        if (step->slot >= 0)
            slot_bytes[step->slot] = larger(slot_bytes[step->slot], receive);
        else
            most_received = larger(most_received, receive);
    }
    int status = 0;
    for (int i = 0; i < p->slots && status == 0; i++)
        status = slot_bytes[i] ? allocate(p, slot_bytes[i], &p->slot_buffers[i]) : 0;
    free(slot_bytes);
    return status < 0 || allocate(p, most_sent, &p->sent) < 0 || allocate(p, most_received, &p->received) < 0 ? -1 : 0;

no_memory:
    free(slot_bytes);
    snprintf(p->error, sizeof(p->error), "no memory for %d requests", p->slots);
    return -1;
}

static int is_world(const struct mix_comm *comm, int ranks)
{
    for (int i = 0; i < comm->size; i++)
        if (comm->members[i] != i)
            return 0;
    return comm->size == ranks;
}

// Create the communicators that no recorded call creates. They are created from their lists of members, one after the
// other, in the same order on all ranks.
static int open_comms(struct player *p)
{
    const struct mix *mix = p->mix;
    int rank;
    MPI_Group world;

    p->comms = malloc(((size_t)mix->comm_count + 1) * sizeof(MPI_Comm));
    if (!p->comms) {
        snprintf(p->error, sizeof(p->error), "no memory for %d communicators", mix->comm_count);
        return -1;
    }
    char *is_made_later = calloc((size_t)mix->comm_count + 1, 1);
    if (!is_made_later) {
        snprintf(p->error, sizeof(p->error), "no memory for %d communicators", mix->comm_count);
        return -1;
    }
    for (int i = 0; i < mix->step_count; i++)
        if (mix->steps[i].made >= 0)
            is_made_later[mix->steps[i].made] = 1;
    for (int i = 0; i < mix->comm_count; i++)
        p->comms[i] = MPI_COMM_NULL;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_group(MPI_COMM_WORLD, &world);
    for (int i = 0; i < mix->comm_count; i++) {
        const struct mix_comm *comm = &mix->comms[i];
        int is_member = 0;
        if (i == 0 && is_world(comm, mix->ranks)) {
            p->comms[i] = MPI_COMM_WORLD;
            continue;
        }
        for (int k = 0; k < comm->size; k++)
            is_member |= comm->members[k] == rank;
        if (!is_member || is_made_later[i])
            continue;
        MPI_Group group = MPI_GROUP_NULL;
        int status = MPI_Group_incl(world, comm->size, comm->members, &group);
        if (status == MPI_SUCCESS)
            status = MPI_Comm_create_group(MPI_COMM_WORLD, group, i, &p->comms[i]);
        if (group != MPI_GROUP_NULL)
            MPI_Group_free(&group);
        if (status != MPI_SUCCESS) {
            snprintf(p->error, sizeof(p->error), "cannot create communicator %d (MPI error %d)", i, status);
            MPI_Group_free(&world);
            free(is_made_later);
            return -1;
        }
        MPI_Comm_set_errhandler(p->comms[i], MPI_ERRORS_RETURN);
    }
    MPI_Group_free(&world);
    free(is_made_later);
    return 0;
}

int player_open(struct player *p, const struct mix *mix, double compute)
{
    *p = (struct player){.mix = mix, .compute = compute};
    return open_buffers(p) < 0 || open_comms(p) < 0 ? -1 : 0;
}

void player_close(struct player *p)
{
    for (int i = 0; p->comms && i < p->mix->comm_count; i++)
        if (p->comms[i] != MPI_COMM_NULL && p->comms[i] != MPI_COMM_WORLD)
            MPI_Comm_free(&p->comms[i]);
    for (int i = 0; p->slot_buffers && i < p->slots; i++)
        free(p->slot_buffers[i]);
    free(p->waited);
    free(p->slot_buffers);
    free(p->requests);
    free(p->comms);
    free(p->sent);
    free(p->received);
}
