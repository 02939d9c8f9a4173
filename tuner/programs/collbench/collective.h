// SPDX-License-Identifier: Apache-2.0
// Collectives that the benchmark and the probe can call, by name.
#ifndef REPRISE_COLLECTIVE_H
#define REPRISE_COLLECTIVE_H

#include <mpi.h>
#include <stddef.h>

// Largest buffer of one rank, in bytes. Beyond it, a benchmark measures the pager more than the network. The limit also
// keeps the counts in MPI calls below INT_MAX.
#define COLLECTIVE_BUFFER_MAX ((size_t)1 << 30)

// A collective with the buffers of one rank for one message size on one communicator; the root is rank 0.
//
// `size` follows OSU's benchmarks: the whole message for bcast, reduce, allreduce and reduce_scatter, one rank's part
// for the others, including allgatherv and alltoallv, whose parts have equal sizes here. Reductions sum floats. barrier
// takes no data.
struct collective {
    const struct collective_kind *kind;
    MPI_Comm comm;
    int rank;
    int ranks;
    size_t size;
    char *send;
    char *recv;
    int *parts;  // elements per rank: floats for reduce_scatter, bytes for allgatherv and alltoallv
    int *places; // offsets of the parts in a buffer, in bytes
};

enum collective_status {
    COLLECTIVE_OK,
    COLLECTIVE_UNKNOWN,    // no collective has this name
    COLLECTIVE_SIZE_ODD,   // a reduction sums 4-byte floats, and the size is not a multiple of 4
    COLLECTIVE_SIZE_LARGE, // the buffer of one rank would exceed COLLECTIVE_BUFFER_MAX
    COLLECTIVE_NO_MEMORY,
};

// Fill `c` and allocate its buffers; on failure nothing is allocated. `collective_close` frees them.
enum collective_status collective_open(struct collective *c, const char *name, size_t size, MPI_Comm comm);
void collective_close(struct collective *c);

// Call the collective once. Returns MPI's return code.
int collective_call(struct collective *c);

// collective_fill writes known data before a call. collective_verify compares the received data with the expected data
// after the call and returns 0 if they are equal, otherwise -1.
void collective_fill(struct collective *c);
int collective_verify(const struct collective *c);

// Return a sentence for users with the cause of an error and its remedy.
const char *collective_message(enum collective_status status);

// Return the names of all collectives, separated by ", ".
const char *collective_names(void);

#endif
