// SPDX-License-Identifier: Apache-2.0
// Wrappers of the MPI functions that start or end MPI in a process, free a communicator, or open a file.
#define _GNU_SOURCE
#include "clock.h"
#include "hints.h"
#include "mpi_next.h"
#include "mpi_state.h"
#include "report.h"
#include "trace.h"

static void record(enum kind kind, uint64_t enter, uint64_t leave)
{
    struct mpi_call call = {.kind = kind, .enter = enter, .leave = leave};

    mpi_state()->kind_calls[kind]++;
    mpi_state()->kind_ticks[kind] += leave - enter;
    mpi_record(&call);
}

static void begun(enum kind kind, uint64_t enter)
{
    __typeof__(&MPI_Comm_rank) get_rank = NEXT(PMPI_Comm_rank);
    __typeof__(&MPI_Comm_size) get_size = NEXT(PMPI_Comm_size);
    __typeof__(&MPI_Query_thread) get_level = NEXT(PMPI_Query_thread);
    struct mpi_state *mpi = mpi_state();
    int level = MPI_THREAD_MULTIPLE;

    if (!mpi_is_ours() || !get_rank || !get_size || get_rank(WORLD, &mpi->rank) != MPI_SUCCESS ||
        get_size(WORLD, &mpi->ranks) != MPI_SUCCESS)
        return;
    if (get_level)
        get_level(&level);
    mpi->has_threads = level == MPI_THREAD_MULTIPLE;
    mpi->begun = clock_ticks();
    mpi->in_init = mpi->begun - enter;
    record(kind, enter, mpi->begun);
    comms_find(WORLD);
    comms_find(SELF);
    mpi->is_on = true;
}

#define BEGINS(function, KIND, parameters, arguments)                                                                  \
    EXPORT int function parameters                                                                                     \
    {                                                                                                                  \
        __typeof__(&function) real = NEXT(function);                                                                   \
        int code;                                                                                                      \
                                                                                                                       \
        if (!real)                                                                                                     \
            return MPI_ERR_UNSUPPORTED_OPERATION;                                                                      \
        if (!witness || witness_inside)                                                                                \
            return real arguments;                                                                                     \
        const uint64_t enter = clock_ticks();                                                                          \
        MPI_THROUGH(code, real arguments);                                                                             \
        if (code == MPI_SUCCESS)                                                                                       \
            begun(KIND_##KIND, enter);                                                                                 \
        return code;                                                                                                   \
    }
BEGINS(MPI_Init, init, (int *argc, char ***argv), (argc, argv))
BEGINS(PMPI_Init, init, (int *argc, char ***argv), (argc, argv))
BEGINS(MPI_Init_thread, init_thread, (int *argc, char ***argv, int wanted, int *got), (argc, argv, wanted, got))
BEGINS(PMPI_Init_thread, init_thread, (int *argc, char ***argv, int wanted, int *got), (argc, argv, wanted, got))

// Record the call that ends MPI (MPI_Finalize or MPI_Abort), stop recording, release the lock and write the report. The
// caller must hold the lock.
static void end(enum kind kind)
{
    const uint64_t now = clock_ticks();

    mpi_state()->is_on = false;
    mpi_state()->ended = now;
    record(kind, now, now);
    mpi_unlock();
    report_write();
    trace_flush();
}

// The report is written before MPI_Finalize is called, because some programs end after this call without running any
// other code of the witness.
#define ENDS(function)                                                                                                 \
    EXPORT int function(void)                                                                                          \
    {                                                                                                                  \
        __typeof__(&function) real = NEXT(function);                                                                   \
        int code;                                                                                                      \
                                                                                                                       \
        if (!real)                                                                                                     \
            return MPI_ERR_UNSUPPORTED_OPERATION;                                                                      \
        if (mpi_is_watched() && mpi_lock())                                                                            \
            end(KIND_finalize);                                                                                        \
        const uint64_t enter = witness ? clock_ticks() : 0;                                                            \
        MPI_THROUGH(code, real());                                                                                     \
        if (witness)                                                                                                   \
            mpi_state()->kind_ticks[KIND_finalize] += clock_ticks() - enter;                                           \
        return code;                                                                                                   \
    }
ENDS(MPI_Finalize)
ENDS(PMPI_Finalize)

// MPI_Abort is often called in a signal handler. If the handler has interrupted a thread that is counting, no report is
// written.
#define ABORTS(function)                                                                                               \
    EXPORT int function(MPI_Comm comm, int code)                                                                       \
    {                                                                                                                  \
        __typeof__(&function) real = NEXT(function);                                                                   \
                                                                                                                       \
        if (!real)                                                                                                     \
            return MPI_ERR_UNSUPPORTED_OPERATION;                                                                      \
        if (mpi_is_watched() && mpi_begin())                                                                           \
            end(KIND_abort);                                                                                           \
        return real(comm, code);                                                                                       \
    }
ABORTS(MPI_Abort)
ABORTS(PMPI_Abort)

#define FREES(function)                                                                                                \
    EXPORT int function(MPI_Comm *comm)                                                                                \
    {                                                                                                                  \
        __typeof__(&function) real = NEXT(function);                                                                   \
        int code;                                                                                                      \
                                                                                                                       \
        if (!real)                                                                                                     \
            return MPI_ERR_UNSUPPORTED_OPERATION;                                                                      \
        /* Not `mpi_begin`, which may skip the call: the handle may then belong to another communicator. */            \
        if (!mpi_is_watched() || !mpi_lock())                                                                          \
            return real(comm);                                                                                         \
        struct mpi_call call = {.kind = KIND_comm_free};                                                               \
        call_on(&call, *comm, MPI_PROC_NULL, 0);                                                                       \
        comms_forget(*comm);                                                                                           \
        mpi_enter(&call);                                                                                              \
        code = real(comm);                                                                                             \
        mpi_leave(&call, code);                                                                                        \
        return code;                                                                                                   \
    }
FREES(MPI_Comm_free)
FREES(PMPI_Comm_free)
FREES(MPI_Comm_disconnect)
FREES(PMPI_Comm_disconnect)

#define OPENS(function)                                                                                                \
    EXPORT int function(MPI_Comm comm, const char *name, int mode, MPI_Info info, MPI_File *file)                      \
    {                                                                                                                  \
        __typeof__(&function) real = NEXT(function);                                                                   \
        int code;                                                                                                      \
                                                                                                                       \
        if (!real)                                                                                                     \
            return MPI_ERR_UNSUPPORTED_OPERATION;                                                                      \
        if (witness_inside)                                                                                            \
            return real(comm, name, mode, info, file);                                                                 \
        if (!mpi_is_watched() || !mpi_begin()) {                                                                       \
            MPI_THROUGH(code, hints_open(real, comm, name, mode, info, file));                                         \
            return code;                                                                                               \
        }                                                                                                              \
        struct mpi_call call = {.kind = KIND_file_open, .family = FAMILY_IO_META};                                     \
        call_on(&call, comm, MPI_PROC_NULL, 0);                                                                        \
        mpi_enter(&call);                                                                                              \
        code = hints_open(real, comm, name, mode, info, file);                                                         \
        mpi_leave(&call, code);                                                                                        \
        return code;                                                                                                   \
    }
OPENS(MPI_File_open)
OPENS(PMPI_File_open)
