// SPDX-License-Identifier: Apache-2.0
// Data about a process's MPI calls, and the functions that count calls.
#ifndef WITNESS_MPI_STATE_H
#define WITNESS_MPI_STATE_H

#include <mpi.h>

#include "state.h"

// Kinds of calls that are not in mpi_calls.def, because mpi_completions.c, mpi_matched.c and mpi_process.c wrap them
// one by one.
#define OTHER_KINDS(with)                                                                                              \
    with(init) with(init_thread) with(finalize) with(abort) with(comm_define) with(comm_free) with(recv)               \
        with(sendrecv) with(sendrecv_replace) with(probe) with(iprobe) with(start) with(startall) with(request_free)   \
            with(wait) with(waitall) with(waitany) with(waitsome) with(test) with(testall) with(testany)               \
                with(testsome) with(file_open) with(mprobe) with(improbe) with(mrecv) with(imrecv)

enum kind {
#define KIND(kind) KIND_##kind,
#define CALL(name, kind, parameters, arguments, description) KIND(kind)
    OTHER_KINDS(KIND)
#include "mpi_calls.def"
#undef CALL
#undef KIND
        KINDS
};

extern const char *const kind_names[KINDS];

enum family {
    FAMILY_OTHER, // timed, and recorded as an event, but not counted further
    FAMILY_MESSAGE,
    FAMILY_COLLECTIVE,
    FAMILY_ONE_SIDED,
    FAMILY_READ,
    FAMILY_WRITE,
    FAMILY_IO_META,
    FAMILY_PROBE,
};

// An ordered group of ranks, which is kept even after its communicators are freed.
struct shape {
    uint64_t id; // equal in all processes; 0 if this entry is free
    int32_t size;
    int32_t rank;     // rank of this process in the group; -1 for the remote group of an intercommunicator
    int32_t *members; // ranks in MPI_COMM_WORLD; NULL if these are 0 to size - 1, or if there was no room
    bool is_world;
    bool is_known;  // the members are known
    uint32_t comms; // number of the group's communicators whose creation was not observed
};

struct comm {
    uint64_t handle; // 0 if this entry is free
    uint64_t id;     // equal in all processes
    uint32_t number; // number that event records use, local to this process
    int32_t rank;
    int32_t size;  // size of the group that contains this process
    int32_t peers; // number of ranks that messages can be sent to
    uint32_t shape;
    uint32_t collectives; // number of collective calls so far
    uint32_t made;        // number of calls so far that made communicators from this one
    bool is_inter;        // an intercommunicator, in which a collective's root is specified differently
    bool has_wildcards;   // a receive from any source or with any tag was posted; see channel_next
    bool is_unordered;    // a receive from any source with any tag was posted, so receives cannot be numbered
};

// Counts of calls with the same key; see message_key and collective_key.
struct cell {
    uint64_t key; // 0 if this entry is free
    uint64_t calls;
    uint64_t bytes;
    uint64_t largest; // largest number of bytes of a call, or of a single count of a v-variant
    uint64_t ticks;
    uint64_t sent; // number of messages that were sent; the other messages were received
};

struct sample {
    uint64_t key;     // equal on all ranks that take part in the call, or on both sides of a message
    uint64_t arrived; // time when the rank entered the call, or started the request
    uint64_t blocked; // time when the rank began to wait for completion; equal to `arrived` for blocking calls
    uint64_t left;
    uint16_t kind;
    uint8_t is_send;
    uint8_t class;
    int32_t other; // rank in MPI_COMM_WORLD of the root or the peer; -1 if none
};

struct samples {
    uint32_t count;
    uint32_t stride; // a power of 2; only calls whose keys are multiples of this number are kept
    struct sample samples[SAMPLES_MAX];
};

struct request {
    uint64_t handle; // 0 if this entry is free
    uint64_t sample; // key of the request's sample; 0 if none
    uint64_t arrived;
    uint64_t bytes;
    uint64_t cell; // key of the cell that counts the request's call
    uint32_t id;
    int32_t other;
    uint16_t kind;
    uint8_t family;
    uint8_t is_send;
    uint8_t is_persistent;
    uint64_t comm; // communicator's handle; used, like `peer` and `tag`, for persistent requests and matched messages
    int32_t peer;
    int32_t tag;
};

// The messages in one direction between two ranks, in one communicator and with one tag; see channel_next.
struct channel {
    uint64_t key;
    uint32_t messages;
};

struct mpi_state {
    bool is_on;       // true between MPI_Init and MPI_Finalize
    bool has_threads; // true if MPI_THREAD_MULTIPLE is in effect
    int rank, ranks;
    uint64_t begun, ended; // times in ticks: after MPI_Init, and before MPI_Finalize
    uint64_t in_init;      // ticks spent in MPI_Init
    _Atomic uint32_t lock;
    uint64_t lost; // number of calls that were not counted
    int64_t members;
    uint32_t comm_numbers;
    uint32_t request_numbers;
    uint32_t unnumbered; // number of messages without a number, because there was no room for their channel
    uint32_t requests_taken;
    uint64_t kind_ticks[KINDS];
    uint64_t kind_calls[KINDS];
    struct shape shapes[SHAPES_MAX];
    struct comm comms[COMMS_MAX];
    struct cell collectives[CELLS_MAX];
    struct cell messages[CELLS_MAX];
    struct cell files[3 * CLASSES];
    struct request requests[REQUESTS_MAX];
    struct channel channels[CHANNELS_MAX];
    struct samples collective_samples, message_samples;
};

static inline struct mpi_state *mpi_state(void)
{
    return (struct mpi_state *)witness->mpi;
}

// Data about an MPI call, kept from before its start until after its end.
struct mpi_call {
    enum kind kind;
    enum family family;
    MPI_Comm handle;
    struct comm comm; // copy of the communicator before the call; its handle is 0 if there was no room to record it
    int peer;         // destination, source, or root
    int tag;
    int source; // rank from which a sendrecv receives a message with `recv_tag`
    int recv_tag;
    uint64_t send_bytes;
    uint64_t recv_bytes;
    uint64_t largest;
    MPI_Request *request;
    MPI_Comm *made;
    bool is_send;
    bool is_persistent;
    uint32_t type_size;
    // counts and types of a v-variant
    const int *send_counts, *recv_counts;
    MPI_Datatype send_type, recv_type;
    const MPI_Datatype *send_types, *recv_types;
    // A neighborhood collective, and the number of neighbors that this rank sends to and receives from
    bool is_neighborhood;
    int out, in;
    // ids of the requests that the call completed or started
    const int64_t *values;
    uint32_t value_count;

    uint64_t enter, leave;
    uint64_t waited; // start of the wait if an earlier call began it; 0 if the wait began at `enter`
    uint64_t sample; // key of the call's sample; 0 if none
    uint32_t request_id;
};

// True if a call of this thread must be counted. Calls that MPI or another wrapper makes are not counted.
static inline bool mpi_is_watched(void)
{
    return __builtin_expect(witness != NULL, 0) && witness_inside == 0 && mpi_state()->is_on;
}

// Take the lock before a call is described. Returns false if it is called in a signal handler of the thread that holds
// the lock, or if another thread does not release the lock in time. If it returns false, the caller makes the MPI call
// without counting it.
bool mpi_begin(void);
// Call mpi_enter when the call is completely described, just before the real call, and mpi_leave after the real call.
void mpi_enter(struct mpi_call *call);
void mpi_leave(struct mpi_call *call, int code);

// Parts of mpi_begin, mpi_enter and mpi_leave, for hand-written wrappers.
bool mpi_lock(void); // fails in a signal handler of the thread that is counting
void mpi_unlock(void);
void mpi_record(const struct mpi_call *call); // record the event, if events are requested

void call_on(struct mpi_call *call, MPI_Comm comm, int peer, int tag);
void call_message(struct mpi_call *call, bool is_send, uint64_t bytes, int peer, int tag, MPI_Comm comm);
void call_collective(struct mpi_call *call, MPI_Comm comm, int root);
void call_counts(struct mpi_call *call);

// The neighbors of this rank in the topology of the call's communicator, in the order of the call's counts. The number
// of neighbors is stored in the call; `to` and `from` have room for as many ranks. neighbors_find returns false if the
// neighbors are unknown.
void neighbors_count(struct mpi_call *call);
bool neighbors_find(const struct mpi_call *call, int *to, int *from);
int call_parts(const struct mpi_call *call); // number of counts of a v-variant; 0 if unknown

// Make a call without counting it.
#define MPI_THROUGH(code, expression)                                                                                  \
    do {                                                                                                               \
        witness_inside++;                                                                                              \
        code = expression;                                                                                             \
        witness_inside--;                                                                                              \
    } while (0)

uint64_t mpi_bytes(int count, MPI_Datatype type);

// -- communicators; the functions return NULL for MPI_COMM_NULL, and if there is no room for another communicator
struct comm *comms_find(MPI_Comm handle);
struct comm *comms_known(MPI_Comm handle);          // also NULL if the communicator was not recorded before
void comms_ask(MPI_Comm handle, struct comm *comm); // get a communicator's ranks and sizes without recording it
void comms_made(struct comm *parent, MPI_Comm made);
void comms_forget(MPI_Comm handle);
int comms_world_rank(const struct comm *comm, int rank); // -1 if unknown

// -- samples
void samples_add(struct samples *samples, const struct sample *sample);
static inline bool samples_want(const struct samples *samples, uint64_t key)
{
    return (key & (samples->stride ? samples->stride - 1 : 0)) == 0;
}

// Return the number by which sender and receiver identify the next message with this tag between this rank and `peer`,
// in the direction that `is_send` gives; 0 if the message cannot be numbered.
uint64_t channel_next(struct comm *comm, int peer, int tag, bool is_send);

// -- requests
struct request *requests_find(MPI_Request handle);
void requests_forget(struct request *request);
struct request *requests_add(MPI_Request handle, const struct request *request);

// -- counting
struct cell *cells_find(struct cell *cells, uint64_t key);
uint64_t message_key(int world, uint64_t bytes);
uint64_t collective_key(enum kind kind, uint32_t shape, uint64_t bytes);
void count_message(int world, uint64_t bytes, uint64_t ticks, bool is_send);
void count_completion(const struct request *request, uint64_t enter, uint64_t leave, uint64_t share);
void count_idle(uint64_t ticks); // count time that cannot be attributed to a message
void count_file(enum family family, uint64_t bytes, uint64_t ticks, bool is_new);

#endif
