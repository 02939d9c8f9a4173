// SPDX-License-Identifier: Apache-2.0
// Wrappers of blocking receives, and of calls that start and complete requests. Before a call that completes requests,
// their handles are copied, because the call sets them to null.
#define _GNU_SOURCE
#include <stdlib.h>
#include <string.h>

#include "clock.h"
#include "mpi_next.h"
#include "mpi_state.h"

enum {
    ON_STACK = 64,
    OVERHEAD_BYTES = 1024, // cost of a message in addition to its bytes, used to divide a wait among requests
};

// -- receives

#define RECEIVE(function)                                                                                              \
    EXPORT int function(void *b, int n, MPI_Datatype t, int from, int tag, MPI_Comm comm, MPI_Status *status)          \
    {                                                                                                                  \
        __typeof__(&function) real = NEXT(function);                                                                   \
        MPI_Status own;                                                                                                \
                                                                                                                       \
        if (!real)                                                                                                     \
            return MPI_ERR_UNSUPPORTED_OPERATION;                                                                      \
        if (!mpi_is_watched() || !mpi_begin())                                                                         \
            return real(b, n, t, from, tag, comm, status);                                                             \
        struct mpi_call call = {.kind = KIND_recv, .type_size = (uint32_t)mpi_bytes(1, t)};                            \
        call_message(&call, false, mpi_bytes(n, t), from, tag, comm);                                                  \
        MPI_Status *said = status == MPI_STATUS_IGNORE ? &own : status;                                                \
        mpi_enter(&call);                                                                                              \
        int code = real(b, n, t, from, tag, comm, said);                                                               \
        received(&call, code, said, t);                                                                                \
        mpi_leave(&call, code);                                                                                        \
        return code;                                                                                                   \
    }

// Store the actual sender, tag and size of a received message in `call`.
static void received(struct mpi_call *call, int code, MPI_Status *status, MPI_Datatype type)
{
    __typeof__(&MPI_Get_count) get_count = NEXT(PMPI_Get_count);
    int count = 0;

    if (code != MPI_SUCCESS || !get_count)
        return;
    call->peer = call->peer == MPI_PROC_NULL ? MPI_PROC_NULL : status->MPI_SOURCE;
    call->tag = status->MPI_TAG;
    if (get_count(status, type, &count) == MPI_SUCCESS && count != MPI_UNDEFINED)
        call->recv_bytes = (uint64_t)count * call->type_size;
}

RECEIVE(MPI_Recv)
RECEIVE(PMPI_Recv)

// Begin to count a call that sends and receives. The receiving half is counted as a separate message.
static bool exchange_begin(struct mpi_call *call, struct mpi_call *half, uint64_t bytes, int to, int tag, uint64_t room,
                           int from, int from_tag, MPI_Comm comm)
{
    if (!mpi_begin())
        return false;
    call_message(call, true, bytes, to, tag, comm);
    call_message(half, false, room, from, from_tag, comm);
    call->source = from;
    call->recv_tag = from_tag;
    call->recv_bytes = room;
    mpi_enter(call);
    return true;
}

static void exchange_end(struct mpi_call *call, struct mpi_call *half, int code, MPI_Status *status, MPI_Datatype type)
{
    received(half, code, status, type);
    const uint64_t now = clock_ticks();
    call->recv_bytes = half->recv_bytes;
    call->source = half->peer;
    mpi_leave(call, code);
    if (code != MPI_SUCCESS || !mpi_lock())
        return;
    const int other = comms_world_rank(&half->comm, half->peer);
    if (half->peer != MPI_PROC_NULL)
        count_message(other, half->recv_bytes, 0, false);
    const struct request as = {
        .sample = half->sample,
        .arrived = call->enter,
        .bytes = half->recv_bytes,
        .cell = message_key(other, half->recv_bytes),
        .other = other,
        .kind = (uint16_t)call->kind,
        .family = FAMILY_MESSAGE,
    };
    count_completion(&as, call->enter, now, 0);
    mpi_unlock();
}

#define EXCHANGE(function)                                                                                             \
    EXPORT int function(const void *s, int n, MPI_Datatype t, int to, int tag, void *b, int m, MPI_Datatype u,         \
                        int from, int from_tag, MPI_Comm comm, MPI_Status *status)                                     \
    {                                                                                                                  \
        __typeof__(&function) real = NEXT(function);                                                                   \
        struct mpi_call call = {.kind = KIND_sendrecv}, half = call;                                                   \
        MPI_Status own;                                                                                                \
                                                                                                                       \
        if (!real)                                                                                                     \
            return MPI_ERR_UNSUPPORTED_OPERATION;                                                                      \
        if (!mpi_is_watched() ||                                                                                       \
            !exchange_begin(&call, &half, mpi_bytes(n, t), to, tag, mpi_bytes(m, u), from, from_tag, comm))            \
            return real(s, n, t, to, tag, b, m, u, from, from_tag, comm, status);                                      \
        MPI_Status *said = status == MPI_STATUS_IGNORE ? &own : status;                                                \
        int code = real(s, n, t, to, tag, b, m, u, from, from_tag, comm, said);                                        \
        half.type_size = (uint32_t)mpi_bytes(1, u);                                                                    \
        exchange_end(&call, &half, code, said, u);                                                                     \
        return code;                                                                                                   \
    }
EXCHANGE(MPI_Sendrecv)
EXCHANGE(PMPI_Sendrecv)

#define REPLACE(function)                                                                                              \
    EXPORT int function(void *b, int n, MPI_Datatype t, int to, int tag, int from, int from_tag, MPI_Comm comm,        \
                        MPI_Status *status)                                                                            \
    {                                                                                                                  \
        __typeof__(&function) real = NEXT(function);                                                                   \
        struct mpi_call call = {.kind = KIND_sendrecv_replace}, half = call;                                           \
        MPI_Status own;                                                                                                \
                                                                                                                       \
        if (!real)                                                                                                     \
            return MPI_ERR_UNSUPPORTED_OPERATION;                                                                      \
        if (!mpi_is_watched() ||                                                                                       \
            !exchange_begin(&call, &half, mpi_bytes(n, t), to, tag, mpi_bytes(n, t), from, from_tag, comm))            \
            return real(b, n, t, to, tag, from, from_tag, comm, status);                                               \
        MPI_Status *said = status == MPI_STATUS_IGNORE ? &own : status;                                                \
        int code = real(b, n, t, to, tag, from, from_tag, comm, said);                                                 \
        half.type_size = (uint32_t)mpi_bytes(1, t);                                                                    \
        exchange_end(&call, &half, code, said, t);                                                                     \
        return code;                                                                                                   \
    }
REPLACE(MPI_Sendrecv_replace)
REPLACE(PMPI_Sendrecv_replace)

// -- completions

struct handles {
    MPI_Request stack[ON_STACK];
    MPI_Request *all;
    int count;
};

// Copy the request handles that are passed to a call. Returns false if memory is short.
static bool handles_keep(struct handles *handles, const MPI_Request *requests, int count)
{
    handles->count = count > 0 ? count : 0;
    handles->all = count > ON_STACK ? malloc((size_t)count * sizeof(*requests)) : handles->stack;
    if (handles->all && handles->count)
        memcpy(handles->all, requests, (size_t)handles->count * sizeof(*requests));
    return handles->all != NULL;
}

// A call has completed `done` requests. Copy them to `taken`, and remove them from the table of pending requests unless
// they are persistent. `which` contains their indices in `handles`, or is NULL for the first `done` handles. Several
// requests may share one handle. Returns the sum of the requests' weights, by which the caller divides the waiting time
// among the requests.
static uint64_t take_completed(const struct handles *handles, const int *which, int done, struct request *taken)
{
    uint64_t weight = 0;

    for (int i = 0; i < done; i++) {
        struct request *request = requests_find(handles->all[which ? which[i] : i]);
        taken[i] = request ? *request : (struct request){0};
        if (!request)
            continue;
        weight += request->bytes + OVERHEAD_BYTES;
        request->sample = 0;
        if (!request->is_persistent)
            requests_forget(request);
    }
    return weight;
}

// Count a call that completed `done` requests. `which` contains their indices in `handles`, or is NULL for the first
// `done` handles.
static void completed(struct mpi_call *call, const struct handles *handles, const int *which, int done)
{
    struct mpi_state *mpi = mpi_state();
    int64_t stack[ON_STACK];
    struct request few[ON_STACK];
    int64_t *values = !*witness_trace ? NULL : done > ON_STACK ? malloc((size_t)done * sizeof(*values)) : stack;
    struct request *taken = done > ON_STACK ? malloc((size_t)done * sizeof(*taken)) : few;
    const uint64_t ticks = call->leave - call->enter;

    if (mpi_lock()) {
        mpi->kind_calls[call->kind]++;
        mpi->kind_ticks[call->kind] += ticks;
        const uint64_t weight = taken ? take_completed(handles, which, done, taken) : 0;
        for (int i = 0; i < done; i++) {
            const struct request *request = taken && taken[i].handle ? &taken[i] : NULL;
            if (values)
                values[i] = request ? request->id : 0;
            if (!request)
                continue;
            const double part = (double)(request->bytes + OVERHEAD_BYTES) / (double)weight;
            count_completion(request, call->enter, call->leave, (uint64_t)((double)ticks * part));
        }
        if (!weight)
            count_idle(ticks);
        call->values = values;
        call->value_count = values && done > 0 ? (uint32_t)done : 0;
        mpi_record(call);
        mpi_unlock();
    }
    if (values != stack)
        free(values);
    if (taken != few)
        free(taken);
}

#define COMPLETES(function, KIND, parameters, arguments, requests, number, which, done)                                \
    EXPORT int function parameters                                                                                     \
    {                                                                                                                  \
        __typeof__(&function) real = NEXT(function);                                                                   \
        struct handles handles;                                                                                        \
                                                                                                                       \
        if (!real)                                                                                                     \
            return MPI_ERR_UNSUPPORTED_OPERATION;                                                                      \
        if (!mpi_is_watched() || !handles_keep(&handles, requests, number))                                            \
            return real arguments;                                                                                     \
        struct mpi_call call = {.kind = KIND_##KIND};                                                                  \
        witness_inside++;                                                                                              \
        call.enter = clock_ticks();                                                                                    \
        int code = real arguments;                                                                                     \
        call.leave = clock_ticks();                                                                                    \
        witness_inside--;                                                                                              \
        if (code == MPI_SUCCESS)                                                                                       \
            completed(&call, &handles, which, done);                                                                   \
        if (handles.all != handles.stack)                                                                              \
            free(handles.all);                                                                                         \
        return code;                                                                                                   \
    }
#define BOTH(name, ...)                                                                                                \
    COMPLETES(MPI_##name, __VA_ARGS__)                                                                                 \
    COMPLETES(PMPI_##name, __VA_ARGS__)

BOTH(Wait, wait, (MPI_Request * r, MPI_Status *s), (r, s), r, 1, NULL, 1)
BOTH(Waitall, waitall, (int n, MPI_Request *r, MPI_Status *s), (n, r, s), r, n, NULL, n)
BOTH(Waitany, waitany, (int n, MPI_Request *r, int *at, MPI_Status *s), (n, r, at, s), r, n, at,
     *at == MPI_UNDEFINED ? 0 : 1)
BOTH(Waitsome, waitsome, (int n, MPI_Request *r, int *done, int *at, MPI_Status *s), (n, r, done, at, s), r, n, at,
     *done == MPI_UNDEFINED ? 0 : *done)
BOTH(Test, test, (MPI_Request * r, int *flag, MPI_Status *s), (r, flag, s), r, 1, NULL, *flag ? 1 : 0)
BOTH(Testall, testall, (int n, MPI_Request *r, int *flag, MPI_Status *s), (n, r, flag, s), r, n, NULL, *flag ? n : 0)
BOTH(Testany, testany, (int n, MPI_Request *r, int *at, int *flag, MPI_Status *s), (n, r, at, flag, s), r, n, at,
     *flag &&*at != MPI_UNDEFINED ? 1 : 0)
BOTH(Testsome, testsome, (int n, MPI_Request *r, int *done, int *at, MPI_Status *s), (n, r, done, at, s), r, n, at,
     *done == MPI_UNDEFINED ? 0 : *done)

// -- persistent requests

static void restart(MPI_Request handle, uint64_t now, int64_t *id)
{
    struct request *request = requests_find(handle);

    if (!request)
        return;
    *id = request->id;
    request->arrived = now;
    request->sample =
        channel_next(comms_known((MPI_Comm)(uintptr_t)request->comm), request->peer, request->tag, request->is_send);
    if (request->peer != MPI_PROC_NULL)
        count_message(request->other, request->bytes, 0, request->is_send);
}

static void restarted(struct mpi_call *call, const struct handles *handles)
{
    int64_t stack[ON_STACK] = {0};
    int64_t *values = handles->count > ON_STACK ? calloc((size_t)handles->count, sizeof(*values)) : stack;

    if (mpi_lock()) {
        mpi_state()->kind_calls[call->kind]++;
        mpi_state()->kind_ticks[call->kind] += call->leave - call->enter;
        for (int i = 0; values && i < handles->count; i++)
            restart(handles->all[i], call->enter, &values[i]);
        count_idle(call->leave - call->enter);
        call->values = values;
        call->value_count = values ? (uint32_t)handles->count : 0;
        mpi_record(call);
        mpi_unlock();
    }
    if (values != stack)
        free(values);
}

#define RESTARTS(function, KIND, parameters, arguments, requests, number)                                              \
    EXPORT int function parameters                                                                                     \
    {                                                                                                                  \
        __typeof__(&function) real = NEXT(function);                                                                   \
        struct handles handles;                                                                                        \
                                                                                                                       \
        if (!real)                                                                                                     \
            return MPI_ERR_UNSUPPORTED_OPERATION;                                                                      \
        if (!mpi_is_watched() || !handles_keep(&handles, requests, number))                                            \
            return real arguments;                                                                                     \
        struct mpi_call call = {.kind = KIND_##KIND};                                                                  \
        witness_inside++;                                                                                              \
        call.enter = clock_ticks();                                                                                    \
        int code = real arguments;                                                                                     \
        call.leave = clock_ticks();                                                                                    \
        witness_inside--;                                                                                              \
        if (code == MPI_SUCCESS)                                                                                       \
            restarted(&call, &handles);                                                                                \
        if (handles.all != handles.stack)                                                                              \
            free(handles.all);                                                                                         \
        return code;                                                                                                   \
    }
RESTARTS(MPI_Start, start, (MPI_Request * r), (r), r, 1)
RESTARTS(PMPI_Start, start, (MPI_Request * r), (r), r, 1)
RESTARTS(MPI_Startall, startall, (int n, MPI_Request *r), (n, r), r, n)
RESTARTS(PMPI_Startall, startall, (int n, MPI_Request *r), (n, r), r, n)

#define RELEASES(function)                                                                                             \
    EXPORT int function(MPI_Request *r)                                                                                \
    {                                                                                                                  \
        __typeof__(&function) real = NEXT(function);                                                                   \
                                                                                                                       \
        if (!real)                                                                                                     \
            return MPI_ERR_UNSUPPORTED_OPERATION;                                                                      \
        if (mpi_is_watched() && mpi_lock()) {                                                                          \
            struct request *request = requests_find(*r);                                                               \
            if (request)                                                                                               \
                requests_forget(request);                                                                              \
            mpi_unlock();                                                                                              \
        }                                                                                                              \
        return real(r);                                                                                                \
    }
RELEASES(MPI_Request_free)
RELEASES(PMPI_Request_free)

// -- probes

#define PROBES(function, KIND, parameters, arguments)                                                                  \
    EXPORT int function parameters                                                                                     \
    {                                                                                                                  \
        __typeof__(&function) real = NEXT(function);                                                                   \
                                                                                                                       \
        if (!real)                                                                                                     \
            return MPI_ERR_UNSUPPORTED_OPERATION;                                                                      \
        if (!mpi_is_watched() || !mpi_begin())                                                                         \
            return real arguments;                                                                                     \
        struct mpi_call call = {.kind = KIND_##KIND, .family = FAMILY_PROBE};                                          \
        call_on(&call, comm, from, tag);                                                                               \
        mpi_enter(&call);                                                                                              \
        int code = real arguments;                                                                                     \
        mpi_leave(&call, code);                                                                                        \
        return code;                                                                                                   \
    }
PROBES(MPI_Probe, probe, (int from, int tag, MPI_Comm comm, MPI_Status *s), (from, tag, comm, s))
PROBES(PMPI_Probe, probe, (int from, int tag, MPI_Comm comm, MPI_Status *s), (from, tag, comm, s))
PROBES(MPI_Iprobe, iprobe, (int from, int tag, MPI_Comm comm, int *flag, MPI_Status *s), (from, tag, comm, flag, s))
PROBES(PMPI_Iprobe, iprobe, (int from, int tag, MPI_Comm comm, int *flag, MPI_Status *s), (from, tag, comm, flag, s))
