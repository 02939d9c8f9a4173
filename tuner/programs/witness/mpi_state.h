// SPDX-License-Identifier: Apache-2.0
// Data about a process's MPI calls, and the steps of counting one.
#ifndef WITNESS_MPI_STATE_H
#define WITNESS_MPI_STATE_H

#include <mpi.h>

#include "state.h"

// The kinds that mpi_completions.c and mpi_process.c wrap one by one.
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

// A group of ranks in order; it outlives its communicators.
struct shape {
    uint64_t id; // equal in all processes; 0: this place is free
    int32_t size;
    int32_t rank;     // of this process in it; -1: it is the remote group of an intercommunicator
    int32_t *members; // ranks in MPI_COMM_WORLD; NULL: they are 0 to size - 1, or there was no room
    bool is_world;
    bool is_known;  // members is valid
    uint32_t comms; // number of these that were first seen in use
};

struct comm {
    uint64_t handle; // 0: this place is free
    uint64_t id;     // equal in all processes
    uint32_t number; // local to this process, for event records
    int32_t rank;
    int32_t size;  // of the group that contains this process
    int32_t peers; // ranks that a message can go to
    uint32_t shape;
    uint32_t collectives; // calls so far
    uint32_t made;        // communicators made from it
    bool is_inter;        // between two groups; a collective's root is given differently there
    bool is_unordered;    // a receive from any source was posted: its messages cannot be numbered
};

// Calls of one kind, with the slot `key`.
struct cell {
    uint64_t key; // 0: this place is free
    uint64_t calls;
    uint64_t bytes;
    uint64_t largest; // of the v-variants: the largest single count
    uint64_t ticks;
    uint64_t sent; // messages that were sent; the others were received
};

struct sample {
    uint64_t key;     // equal on all ranks that take part in the call, or on both sides of a message
    uint64_t arrived; // time when the rank entered the call, or started it
    uint64_t blocked; // time when it began to wait for it; equal to `arrived` for calls that block
    uint64_t left;
    uint16_t kind;
    uint8_t is_send;
    uint8_t class;
    int32_t other; // rank in MPI_COMM_WORLD: the root, -1 for none, or the peer
};

struct samples {
    uint32_t count;
    uint32_t stride; // only calls with a key that is a multiple of it are kept; a power of 2
    struct sample samples[SAMPLES_MAX];
};

struct request {
    uint64_t handle; // 0: free, 1: was used
    uint64_t sample; // key; 0: none
    uint64_t arrived;
    uint64_t bytes;
    uint64_t cell; // its key
    uint32_t id;
    int32_t other;
    uint16_t kind;
    uint8_t family;
    uint8_t is_send;
    uint8_t is_persistent;
    uint64_t comm; // handle, peer and tag of a persistent one
    int32_t peer;
    int32_t tag;
};

struct channel {
    uint64_t key;
    uint32_t messages;
};

struct mpi_state {
    bool is_on;       // between MPI_Init and MPI_Finalize
    bool has_threads; // MPI_THREAD_MULTIPLE
    int rank, ranks;
    uint64_t begun, ended; // ticks after MPI_Init and before MPI_Finalize
    uint64_t in_init;      // ticks
    _Atomic uint32_t lock;
    uint64_t lost; // calls that were not counted
    int64_t members;
    uint32_t comm_numbers;
    uint32_t request_numbers;
    uint32_t unnumbered; // channels for which there was no place
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

// One call, from before its start to after its end.
struct mpi_call {
    enum kind kind;
    enum family family;
    MPI_Comm handle;
    struct comm comm; // state before the call; its handle is 0 if there was no room for it
    int peer;         // destination, source, or root
    int tag;
    int source; // of sendrecv
    int recv_tag;
    uint64_t send_bytes;
    uint64_t recv_bytes;
    uint64_t largest;
    MPI_Request *request;
    MPI_Comm *made;
    bool is_send;
    bool is_persistent;
    uint32_t type_size;
    // v-variants
    const int *send_counts, *recv_counts;
    MPI_Datatype send_type, recv_type;
    const MPI_Datatype *send_types, *recv_types;
    // completed requests
    const int64_t *values;
    uint32_t value_count;

    uint64_t enter, leave;
    uint64_t waited; // start of the wait, if another call began it; 0: `enter`
    uint64_t sample; // key; 0: none
    uint32_t request_id;
};

// Whether a call of this thread is to be counted: not one that MPI or another wrapper makes.
static inline bool mpi_is_watched(void)
{
    return __builtin_expect(witness != NULL, 0) && witness_inside == 0 && mpi_state()->is_on;
}

// Take the lock before a call is described. Returns false in a signal handler of the thread that holds it, and if
// another thread does not release it in time; then the call is made uncounted.
bool mpi_begin(void);
// Call these around the real call. The description is complete before it.
void mpi_enter(struct mpi_call *call);
void mpi_leave(struct mpi_call *call, int code);

// Steps of the two functions above, for hand-written wrappers.
bool mpi_lock(void); // fails in a signal handler of the thread that is counting
void mpi_unlock(void);
void mpi_record(const struct mpi_call *call); // record the event, if events are requested

void call_on(struct mpi_call *call, MPI_Comm comm, int peer, int tag);
void call_message(struct mpi_call *call, bool is_send, uint64_t bytes, int peer, int tag, MPI_Comm comm);
void call_collective(struct mpi_call *call, MPI_Comm comm, int root);
void call_counts(struct mpi_call *call);
int call_parts(const struct mpi_call *call); // number of counts of a v-variant, 0: unknown

// Make a call without counting it.
#define MPI_THROUGH(code, expression)                                                                                  \
    do {                                                                                                               \
        witness_inside++;                                                                                              \
        code = expression;                                                                                             \
        witness_inside--;                                                                                              \
    } while (0)

uint64_t mpi_bytes(int count, MPI_Datatype type);

// -- communicators: NULL if there is no room for another one, or for MPI_COMM_NULL
struct comm *comms_find(MPI_Comm handle);
struct comm *comms_known(MPI_Comm handle);          // also NULL if it was not seen before
void comms_ask(MPI_Comm handle, struct comm *comm); // find this process's place in one that there is no room for
void comms_made(struct comm *parent, MPI_Comm made);
void comms_forget(MPI_Comm handle);
int comms_world_rank(const struct comm *comm, int rank); // -1: unknown

// -- samples
void samples_add(struct samples *samples, const struct sample *sample);
static inline bool samples_want(const struct samples *samples, uint64_t key)
{
    return (key & (samples->stride ? samples->stride - 1 : 0)) == 0;
}

// The number by which both sides identify the message that is sent or received next; 0: it has none.
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
void count_idle(uint64_t ticks); // time for which no message is known
void count_file(enum family family, uint64_t bytes, uint64_t ticks, bool is_new);

#endif
