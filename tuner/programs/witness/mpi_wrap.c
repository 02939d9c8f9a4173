// SPDX-License-Identifier: Apache-2.0
// Wrappers of all functions in mpi_calls.def, each as MPI_name and PMPI_name.
#define _GNU_SOURCE
#include "mpi_next.h"
#include "mpi_state.h"

#define BYTES(count, type) mpi_bytes(count, type)
#define IS_ROOT (call.peer == (call.comm.is_inter ? MPI_ROOT : call.comm.rank))
// In a rooted collective on an intercommunicator, only one rank of the root's group takes part: the root. The arguments
// of the group's other ranks may have any value.
#define TAKES_PART !(call.comm.is_inter && call.peer == MPI_PROC_NULL)

// The descriptions of calls in mpi_calls.def consist of the following macros.
#define SENDS(count, type, to, tag, comm)                                                                              \
    call_message(&call, true, BYTES(count, type), to, tag, comm);                                                      \
    call.type_size = (uint32_t)BYTES(1, type);
#define RECEIVES(count, type, from, tag, comm)                                                                         \
    call_message(&call, false, BYTES(count, type), from, tag, comm);                                                   \
    call.type_size = (uint32_t)BYTES(1, type);
#define PREPARES(description)                                                                                          \
    call.is_persistent = true;                                                                                         \
    description
#define STARTS(started) call.request = started;
#define COLLECTIVE(comm, root, sent, received)                                                                         \
    call_collective(&call, comm, root);                                                                                \
    if (TAKES_PART) {                                                                                                  \
        call.send_bytes = sent;                                                                                        \
        call.recv_bytes = received;                                                                                    \
    }
#define COUNTS(sent, s_type, received, r_type)                                                                         \
    call.send_counts = sent;                                                                                           \
    call.recv_counts = received;                                                                                       \
    call.send_type = s_type;                                                                                           \
    call.recv_type = r_type;                                                                                           \
    call_counts(&call);
#define COUNTS_OF(sent, s_types, received, r_types)                                                                    \
    call.send_counts = sent;                                                                                           \
    call.recv_counts = received;                                                                                       \
    call.send_types = s_types;                                                                                         \
    call.recv_types = r_types;                                                                                         \
    call_counts(&call);
#define NEIGHBORS(counts)                                                                                              \
    call.is_neighborhood = true;                                                                                       \
    neighbors_count(&call);                                                                                            \
    counts
#define MAKES(comm, result)                                                                                            \
    call_on(&call, comm, MPI_PROC_NULL, 0);                                                                            \
    call.made = result;
#define ONE_SIDED(count, type)                                                                                         \
    call.family = FAMILY_ONE_SIDED;                                                                                    \
    call.send_bytes = BYTES(count, type);
#define ONE_SIDED_SYNC() call.family = FAMILY_ONE_SIDED;
#define IO_READ(count, type)                                                                                           \
    call.family = FAMILY_READ;                                                                                         \
    call.recv_bytes = BYTES(count, type);
#define IO_WRITE(count, type)                                                                                          \
    call.family = FAMILY_WRITE;                                                                                        \
    call.send_bytes = BYTES(count, type);
#define IO_READ_END() call.family = FAMILY_OTHER;
#define IO_WRITE_END() call.family = FAMILY_OTHER;
#define IO_META() call.family = FAMILY_IO_META;

#define CALL(name, KIND, parameters, arguments, description)                                                           \
    WRAPPER(MPI_##name, KIND, parameters, arguments, description)                                                      \
    WRAPPER(PMPI_##name, KIND, parameters, arguments, description)

#define WRAPPER(function, KIND, parameters, arguments, description)                                                    \
    EXPORT int function parameters                                                                                     \
    {                                                                                                                  \
        __typeof__(&function) real = NEXT(function);                                                                   \
        int code;                                                                                                      \
                                                                                                                       \
        if (__builtin_expect(!real, 0))                                                                                \
            return MPI_ERR_UNSUPPORTED_OPERATION;                                                                      \
        if (!mpi_is_watched() || !mpi_begin())                                                                         \
            return real arguments;                                                                                     \
        struct mpi_call call = {.kind = KIND_##KIND};                                                                  \
        description;                                                                                                   \
        mpi_enter(&call);                                                                                              \
        code = real arguments;                                                                                         \
        mpi_leave(&call, code);                                                                                        \
        return code;                                                                                                   \
    }

#include "mpi_calls.def"
