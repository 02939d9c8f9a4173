// SPDX-License-Identifier: Apache-2.0
// A mix is the recorded communication of an application. `struct mix` has the part of it that one rank replays.
// docs/reference/mix-file.md describes the file.
#ifndef REPRISE_MIX_H
#define REPRISE_MIX_H

#include <stddef.h>
#include <stdint.h>

enum mix_limits {
    MIX_VERSION = 1,
    MIX_DEPTH_MAX = 64,    // maximum depth of nested loops
    MIX_SLOTS_MAX = 65536, // requests of a rank that are pending at the same time
    MIX_COMMS_MAX = 16384, // Open MPI has only about 2^15 ids for communicators
    MIX_RANKS_MAX = 1 << 20,
    MIX_MESSAGE_BYTES = 512,
};

#define MIX_GAP_US_MAX 1e12 // 11 days; rejects infinite gaps

enum mix_kind {
    MIX_SEND,
    MIX_SSEND,
    MIX_RECV,
    MIX_ISEND,
    MIX_ISSEND,
    MIX_IRECV,
    MIX_SENDRECV,
    MIX_WAIT,
    MIX_BARRIER,
    MIX_BCAST,
    MIX_REDUCE,
    MIX_ALLREDUCE,
    MIX_SCAN,
    MIX_EXSCAN,
    MIX_GATHER,
    MIX_SCATTER,
    MIX_ALLGATHER,
    MIX_ALLTOALL,
    MIX_REDUCE_SCATTER_BLOCK,
    MIX_GATHERV,
    MIX_SCATTERV,
    MIX_ALLGATHERV,
    MIX_ALLTOALLV,
    MIX_REDUCE_SCATTER,
    MIX_COMM_DUP,
    MIX_COMM_SPLIT,
    MIX_COMM_CREATE,
    MIX_CART_CREATE,
    MIX_COMM_FREE,
    MIX_COMPUTE, // not an MPI call, but the computation after the last call
    MIX_KINDS,
};

// Amount of data sent to or received from each rank. `bytes` is in bytes; `counts` and `places` are MPI's counts and
// displacements, in elements. The arrays are NULL if the call has no separate counts.
struct mix_parts {
    int64_t *bytes;
    int *counts;
    int *places;
    int64_t total;
};

// A step is a call, the start of a loop, or the end of a loop.
enum mix_step_type { MIX_CALL, MIX_LOOP, MIX_END };

struct mix_step {
    enum mix_step_type type;
    enum mix_kind kind;
    int is_nonblocking; // the non-blocking form of a collective
    int in_place;
    int is_persistent; // the message uses a persistent request
    int comm;          // index of the communicator
    int peer;          // rank in `comm` of the destination, of a receive's source, or of the root; -1 if none
    int tag;
    int64_t bytes; // size of the message, as docs/reference/mix-file.md defines it
    int element;   // bytes of one element
    int source;    // rank from which a sendrecv receives; that message has `source_tag` and `source_bytes`
    int source_tag;
    int64_t source_bytes;
    int made;      // index of the communicator that the call creates; -1 if it is never used
    int color;     // color of a split, equal for all members of a new communicator; -1 for none
    int key;       // key of a split, which orders the members
    int slot;      // slot of the request that the call starts; -1 if it starts none
    double gap_us; // microseconds of computation before the call
    int *waited;   // slots of the requests that a wait completes
    int waited_count;
    struct mix_parts sent;
    struct mix_parts received;
    long line;  // line number in the file
    long count; // number of repetitions of a loop
    int other;  // at a loop's start, the index of its end; at its end, the index of its start
};

struct mix_comm {
    int *members; // ranks in MPI_COMM_WORLD
    int size;
};

struct mix {
    int ranks;
    struct mix_comm *comms;
    int comm_count;
    struct mix_step *steps;
    int step_count;
    char error[MIX_MESSAGE_BYTES];
};

// Read the calls of rank `rank` of `ranks` ranks from the file at `path`. Returns 0, or -1 with a one-line message in
// `mix->error`. `mix_close` frees the mix in both cases.
int mix_open(struct mix *mix, const char *path, int rank, int ranks);
void mix_close(struct mix *mix);

const char *mix_kind_name(enum mix_kind kind);

#endif
