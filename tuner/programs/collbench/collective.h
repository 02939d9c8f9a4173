// SPDX-License-Identifier: Apache-2.0
// Collectives that reprise-collbench and reprise-rulesprobe can call by name.
#ifndef REPRISE_COLLECTIVE_H
#define REPRISE_COLLECTIVE_H

#include <mpi.h>
#include <stddef.h>

// Largest buffer of one rank, in bytes. With larger buffers, a benchmark measures memory paging more than the network.
// The limit also keeps the counts in MPI calls below INT_MAX.
#define COLLECTIVE_BUFFER_MAX ((size_t)1 << 30)

// A collective on one communicator, with one rank's buffers for one message size. The root is rank 0.
//
// `size` follows OSU's benchmarks: it is the size of the whole message for bcast, reduce, allreduce and reduce_scatter,
// and the size of one rank's part for the other collectives. In allgatherv and alltoallv, all parts have this size.
// Reductions sum floats. barrier takes no data.
struct collective {
    const struct collective_kind *kind;
    MPI_Comm comm;
    int rank;
    int ranks;
    size_t size;
    char *send;
    char *recv;
    int *parts;  // elements per rank: floats for reduce_scatter, bytes for allgatherv and alltoallv
    int *places; // displacements of the parts in a buffer, in bytes
};

enum collective_status {
    COLLECTIVE_OK,
    COLLECTIVE_UNKNOWN,    // no collective has this name
    COLLECTIVE_SIZE_ODD,   // a reduction sums 4-byte floats, and the size is not a multiple of 4
    COLLECTIVE_SIZE_LARGE, // the buffer of one rank would exceed COLLECTIVE_BUFFER_MAX
    COLLECTIVE_NO_MEMORY,
};

// Set `c` and allocate its buffers, which collective_close frees. On failure, nothing stays allocated.
enum collective_status collective_open(struct collective *c, const char *name, size_t size, MPI_Comm comm);
void collective_close(struct collective *c);

// Call the collective once. Returns MPI's return code.
int collective_call(struct collective *c);

// Call collective_fill before a call, to write known data, and collective_verify after the call. collective_verify
// returns 0 if the received data is the expected data, otherwise -1.
void collective_fill(struct collective *c);
int collective_verify(const struct collective *c);

// Return a message for users that names the cause of an error and the remedy.
const char *collective_message(enum collective_status status);

// Return the names of all collectives, separated by ", ".
const char *collective_names(void);

#endif
