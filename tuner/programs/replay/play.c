// SPDX-License-Identifier: Apache-2.0
// Makes the MPI calls of a mix.
#include <limits.h>
#include <stdio.h>

#include "compute.h"
#include "elements.h"
#include "player.h"

static int peer_of(int peer)
{
    return peer < 0 ? MPI_PROC_NULL : peer;
}

// Free a completed request if it is persistent; MPI has already freed other requests.
static int release(MPI_Request *request)
{
    return *request == MPI_REQUEST_NULL ? MPI_SUCCESS : MPI_Request_free(request);
}

static int wait_for(struct player *p, const struct mix_step *step)
{
    int status;

    if (step->waited_count == 1) {
        status = MPI_Wait(&p->requests[step->waited[0]], MPI_STATUS_IGNORE);
        return status == MPI_SUCCESS ? release(&p->requests[step->waited[0]]) : status;
    }
    for (int i = 0; i < step->waited_count; i++)
        p->waited[i] = p->requests[step->waited[i]];
    status = MPI_Waitall(step->waited_count, p->waited, MPI_STATUSES_IGNORE);
    for (int i = 0; i < step->waited_count && status == MPI_SUCCESS; i++) {
        status = release(&p->waited[i]);
        p->requests[step->waited[i]] = p->waited[i];
    }
    return status;
}

// Send or receive a message with a persistent request, as the application did, because Open MPI's monitoring counts
// such messages differently. An application creates such a request once and starts it often; here, a request is created
// for each start.
static int persistent(struct player *p, const struct mix_step *s, int count, MPI_Datatype type)
{
    MPI_Comm comm = p->comms[s->comm];
    MPI_Request *request = &p->requests[s->slot];
    int peer = peer_of(s->peer);
    int status;

    if (s->kind == MIX_IRECV)
        status = MPI_Recv_init(p->slot_buffers[s->slot], count, type, peer, s->tag, comm, request);
    else if (s->kind == MIX_ISSEND)
        status = MPI_Ssend_init(p->sent, count, type, peer, s->tag, comm, request);
    else
        status = MPI_Send_init(p->sent, count, type, peer, s->tag, comm, request);
    return status == MPI_SUCCESS ? MPI_Start(request) : status;
}

static int point_to_point(struct player *p, const struct mix_step *s, int count, MPI_Datatype type)
{
    MPI_Comm comm = p->comms[s->comm];
    MPI_Request *request = s->slot >= 0 ? &p->requests[s->slot] : NULL;
    int peer = peer_of(s->peer);

    if (s->is_persistent && s->slot >= 0)
        return persistent(p, s, count, type);
    switch (s->kind) {
    case MIX_SEND:
        return MPI_Send(p->sent, count, type, peer, s->tag, comm);
    case MIX_SSEND:
        return MPI_Ssend(p->sent, count, type, peer, s->tag, comm);
    case MIX_RECV:
        return MPI_Recv(p->received, count, type, peer, s->tag, comm, MPI_STATUS_IGNORE);
    case MIX_ISEND:
        return MPI_Isend(p->sent, count, type, peer, s->tag, comm, request);
    case MIX_ISSEND:
        return MPI_Issend(p->sent, count, type, peer, s->tag, comm, request);
    case MIX_IRECV:
        return MPI_Irecv(p->slot_buffers[s->slot], count, type, peer, s->tag, comm, request);
    default:
        return MPI_Sendrecv(p->sent, count, type, peer, s->tag, p->received, (int)(s->source_bytes / s->element), type,
                            peer_of(s->source), s->source_tag, comm, MPI_STATUS_IGNORE);
    }
}

// `CALL(Name, name, arguments)`: make the blocking call, or the non-blocking call if there is a request to start.
#define CALL(blocking, starting, ...) (request ? MPI_I##starting(__VA_ARGS__, request) : MPI_##blocking(__VA_ARGS__))

static int collective(struct player *p, const struct mix_step *s, int n, MPI_Datatype type, MPI_Op op)
{
    MPI_Comm comm = p->comms[s->comm];
    MPI_Request *request = s->slot >= 0 ? &p->requests[s->slot] : NULL;
    void *to = request && p->slot_buffers[s->slot] ? p->slot_buffers[s->slot] : p->received;
    const void *from = s->in_place ? MPI_IN_PLACE : p->sent;
    const struct mix_parts *out = &s->sent;
    const struct mix_parts *in = &s->received;

    switch (s->kind) {
    case MIX_BARRIER:
        return CALL(Barrier, barrier, comm);
    case MIX_BCAST:
        return CALL(Bcast, bcast, to, n, type, s->peer, comm);
    case MIX_REDUCE:
        return CALL(Reduce, reduce, from, to, n, type, op, s->peer, comm);
    case MIX_ALLREDUCE:
        return CALL(Allreduce, allreduce, from, to, n, type, op, comm);
    case MIX_SCAN:
        return CALL(Scan, scan, from, to, n, type, op, comm);
    case MIX_EXSCAN:
        return CALL(Exscan, exscan, from, to, n, type, op, comm);
    case MIX_GATHER:
        return CALL(Gather, gather, from, n, type, to, n, type, s->peer, comm);
    case MIX_SCATTER:
        return s->in_place ? CALL(Scatter, scatter, p->sent, n, type, MPI_IN_PLACE, n, type, s->peer, comm)
                           : CALL(Scatter, scatter, p->sent, n, type, to, n, type, s->peer, comm);
    case MIX_ALLGATHER:
        return CALL(Allgather, allgather, from, n, type, to, n, type, comm);
    case MIX_ALLTOALL:
        return CALL(Alltoall, alltoall, from, n, type, to, n, type, comm);
    case MIX_REDUCE_SCATTER_BLOCK:
        return CALL(Reduce_scatter_block, reduce_scatter_block, from, to, n, type, op, comm);
    case MIX_GATHERV:
        return CALL(Gatherv, gatherv, from, n, type, to, in->counts, in->places, type, s->peer, comm);
    case MIX_SCATTERV:
        return CALL(Scatterv, scatterv, p->sent, out->counts, out->places, type, s->in_place ? MPI_IN_PLACE : to, n,
                    type, s->peer, comm);
    case MIX_ALLGATHERV:
        return CALL(Allgatherv, allgatherv, from, n, type, to, in->counts, in->places, type, comm);
    case MIX_ALLTOALLV:
        return CALL(Alltoallv, alltoallv, from, out->counts, out->places, type, to, in->counts, in->places, type, comm);
    default:
        return CALL(Reduce_scatter, reduce_scatter, from, to, in->counts, type, op, comm);
    }
}

static int create_from_group(const struct player *p, const struct mix_step *s, MPI_Comm *made)
{
    MPI_Group world;
    MPI_Group group = MPI_GROUP_EMPTY;
    int status = MPI_Comm_group(MPI_COMM_WORLD, &world);

    if (status == MPI_SUCCESS && s->made >= 0)
        status = MPI_Group_incl(world, p->mix->comms[s->made].size, p->mix->comms[s->made].members, &group);
    if (status == MPI_SUCCESS)
        status = MPI_Comm_create(p->comms[s->comm], group, made);
    if (group != MPI_GROUP_EMPTY)
        MPI_Group_free(&group);
    MPI_Group_free(&world);
    return status;
}

// Create or free a communicator with the call that the application made, because such calls communicate, too.
static int communicator(struct player *p, const struct mix_step *s)
{
    MPI_Comm comm = p->comms[s->comm];
    MPI_Comm made = MPI_COMM_NULL;
    int size = p->mix->comms[s->comm].size;
    int status;

    switch (s->kind) {
    case MIX_COMM_FREE:
        return MPI_Comm_free(&p->comms[s->comm]);
    case MIX_COMM_DUP:
        status = MPI_Comm_dup(comm, &made);
        break;
    case MIX_COMM_SPLIT:
        status = MPI_Comm_split(comm, s->color < 0 ? MPI_UNDEFINED : s->color, s->key, &made);
        break;
    case MIX_CART_CREATE:
        size = s->made < 0 ? size : p->mix->comms[s->made].size;
        status = MPI_Cart_create(comm, 1, &size, &(int){0}, 0, &made);
        break;
    default:
        status = create_from_group(p, s, &made);
    }
    if (status != MPI_SUCCESS || made == MPI_COMM_NULL)
        return status;
    if (s->made < 0)
        return MPI_Comm_free(&made);
    p->comms[s->made] = made;
    return MPI_Comm_set_errhandler(made, MPI_ERRORS_RETURN);
}

static int call(struct player *p, const struct mix_step *s)
{
    MPI_Datatype type;
    MPI_Op op;
    int status = element_of(s->element, &type, &op);

    if (status != MPI_SUCCESS)
        return status;
    if (s->kind == MIX_WAIT)
        return wait_for(p, s);
    if (s->kind < MIX_WAIT)
        return point_to_point(p, s, (int)(s->bytes / s->element), type);
    if (s->kind >= MIX_COMM_DUP)
        return communicator(p, s);
    return collective(p, s, (int)(s->bytes / s->element), type, op);
}

static int play(struct player *p, int at)
{
    const struct mix_step *s = &p->mix->steps[at];
    double begun;
    int status;

    if (p->compute > 0 && s->gap_us > 0)
        compute_wait(p, s->gap_us);
    if (s->kind == MIX_COMPUTE)
        return 0;
    atomic_store(&p->step, at);
    begun = MPI_Wtime();
    atomic_fetch_add(&p->entered, 1);
    status = call(p, s);
    atomic_fetch_add(&p->left, 1);
    int of = s->is_nonblocking ? MIX_KINDS : 0;
    p->tally.seconds[of + s->kind] += MPI_Wtime() - begun;
    p->tally.calls[of + s->kind]++;
    if (status == MPI_SUCCESS)
        return 0;
    snprintf(p->error, sizeof(p->error), "%s failed (MPI error %d) at line %ld of the mix", mix_kind_name(s->kind),
             status, s->line);
    return -1;
}

int player_run(struct player *p)
{
    long left[MIX_DEPTH_MAX];
    int depth = 0;

    for (int at = 0; at < p->mix->step_count; at++) {
        const struct mix_step *s = &p->mix->steps[at];
        switch (s->type) {
        case MIX_LOOP:
            left[depth++] = s->count;
            break;
        case MIX_END:
            if (--left[depth - 1] > 0)
                at = s->other; // go to the loop's start; the next step is its first call
            else
                depth--;
            break;
        case MIX_CALL:
            if (play(p, at) < 0)
                return -1;
        }
    }
    return 0;
}
