// SPDX-License-Identifier: Apache-2.0
// Wrappers of matched probes, and of the calls that receive the matched messages; mpi4py uses these calls to receive
// objects. The receiving call names neither the communicator nor the sender nor the tag, so its wrapper looks them up
// in the table of requests, by the message's handle.
#define _GNU_SOURCE
#include "clock.h"
#include "mpi_next.h"
#include "mpi_state.h"

#define MESSAGE_KEY(message) ((MPI_Request)(uintptr_t)(message))

static MPI_Message of_nobody(void)
{
    static MPI_Message known;

    if (!known)
        known = CONSTANT(MPI_Message, ompi_message_no_proc, MPI_MESSAGE_NO_PROC);
    return known;
}

static void taken(const struct mpi_call *call, MPI_Message message, const MPI_Status *status)
{
    const struct request probed = {
        .arrived = call->enter,
        .comm = call->comm.handle,
        .peer = status->MPI_SOURCE,
        .tag = status->MPI_TAG,
        .family = FAMILY_PROBE,
    };

    if (message == of_nobody() || !mpi_lock())
        return;
    requests_add(MESSAGE_KEY(message), &probed);
    mpi_unlock();
}

#define PROBES(function, KIND, parameters, arguments, found)                                                           \
    EXPORT int function parameters                                                                                     \
    {                                                                                                                  \
        __typeof__(&function) real = NEXT(function);                                                                   \
        MPI_Status own;                                                                                                \
                                                                                                                       \
        if (!real)                                                                                                     \
            return MPI_ERR_UNSUPPORTED_OPERATION;                                                                      \
        if (!mpi_is_watched() || !mpi_begin())                                                                         \
            return real arguments;                                                                                     \
        struct mpi_call call = {.kind = KIND_##KIND, .family = FAMILY_PROBE};                                          \
        call_on(&call, comm, from, tag);                                                                               \
        status = status == MPI_STATUS_IGNORE ? &own : status;                                                          \
        mpi_enter(&call);                                                                                              \
        const int code = real arguments;                                                                               \
        if (code == MPI_SUCCESS && (found))                                                                            \
            taken(&call, *message, status);                                                                            \
        mpi_leave(&call, code);                                                                                        \
        return code;                                                                                                   \
    }
PROBES(MPI_Mprobe, mprobe, (int from, int tag, MPI_Comm comm, MPI_Message *message, MPI_Status *status),
       (from, tag, comm, message, status), true)
PROBES(PMPI_Mprobe, mprobe, (int from, int tag, MPI_Comm comm, MPI_Message *message, MPI_Status *status),
       (from, tag, comm, message, status), true)
PROBES(MPI_Improbe, improbe, (int from, int tag, MPI_Comm comm, int *flag, MPI_Message *message, MPI_Status *status),
       (from, tag, comm, flag, message, status), *flag)
PROBES(PMPI_Improbe, improbe, (int from, int tag, MPI_Comm comm, int *flag, MPI_Message *message, MPI_Status *status),
       (from, tag, comm, flag, message, status), *flag)

// Describe the receive of a message that a probe has matched. Returns false if the probe was not recorded.
static bool matched(struct mpi_call *call, MPI_Message message, int count, MPI_Datatype type)
{
    struct request *probed = requests_find(MESSAGE_KEY(message));

    if (message == of_nobody()) {
        call->family = FAMILY_MESSAGE;
        call_on(call, WORLD, MPI_PROC_NULL, 0);
        return true;
    }
    if (!probed || probed->family != FAMILY_PROBE)
        return false;
    const struct request known = *probed;
    requests_forget(probed);
    call->type_size = (uint32_t)mpi_bytes(1, type);
    call->handle = (MPI_Comm)(uintptr_t)known.comm;
    struct comm *comm = comms_known(call->handle);
    call->family = FAMILY_MESSAGE;
    call->recv_bytes = mpi_bytes(count, type);
    call->peer = known.peer;
    call->tag = known.tag;
    call->waited = known.arrived; // the rank waited for the message in the probe
    if (comm) {
        call->comm = *comm;
        call->sample = channel_next(comm, call->peer, call->tag, false);
    }
    return true;
}

#define RECEIVES(function)                                                                                             \
    EXPORT int function(void *b, int n, MPI_Datatype t, MPI_Message *message, MPI_Status *status)                      \
    {                                                                                                                  \
        __typeof__(&function) real = NEXT(function);                                                                   \
        __typeof__(&MPI_Get_count) get_count = NEXT(PMPI_Get_count);                                                   \
        MPI_Status own;                                                                                                \
        int came = 0;                                                                                                  \
                                                                                                                       \
        if (!real)                                                                                                     \
            return MPI_ERR_UNSUPPORTED_OPERATION;                                                                      \
        if (!mpi_is_watched() || !mpi_begin())                                                                         \
            return real(b, n, t, message, status);                                                                     \
        struct mpi_call call = {.kind = KIND_mrecv};                                                                   \
        matched(&call, *message, n, t);                                                                                \
        status = status == MPI_STATUS_IGNORE ? &own : status;                                                          \
        mpi_enter(&call);                                                                                              \
        const int code = real(b, n, t, message, status);                                                               \
        if (code == MPI_SUCCESS && call.family == FAMILY_MESSAGE && get_count &&                                       \
            get_count(status, t, &came) == MPI_SUCCESS && came != MPI_UNDEFINED)                                       \
            call.recv_bytes = (uint64_t)came * call.type_size;                                                         \
        mpi_leave(&call, code);                                                                                        \
        return code;                                                                                                   \
    }
RECEIVES(MPI_Mrecv)
RECEIVES(PMPI_Mrecv)

#define STARTS(function)                                                                                               \
    EXPORT int function(void *b, int n, MPI_Datatype t, MPI_Message *message, MPI_Request *r)                          \
    {                                                                                                                  \
        __typeof__(&function) real = NEXT(function);                                                                   \
                                                                                                                       \
        if (!real)                                                                                                     \
            return MPI_ERR_UNSUPPORTED_OPERATION;                                                                      \
        if (!mpi_is_watched() || !mpi_begin())                                                                         \
            return real(b, n, t, message, r);                                                                          \
        struct mpi_call call = {.kind = KIND_imrecv};                                                                  \
        if (matched(&call, *message, n, t))                                                                            \
            call.request = r;                                                                                          \
        mpi_enter(&call);                                                                                              \
        const int code = real(b, n, t, message, r);                                                                    \
        mpi_leave(&call, code);                                                                                        \
        return code;                                                                                                   \
    }
STARTS(MPI_Imrecv)
STARTS(PMPI_Imrecv)
