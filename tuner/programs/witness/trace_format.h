// SPDX-License-Identifier: Apache-2.0
// Format of an event record: the MPI calls of one rank, in order. REPRISE_WITNESS_TRACE=DIRECTORY requests it.
//
// Each rank writes one file, DIRECTORY/RANK.HOST.PID.trace, in the byte order of its machine. It begins with a `struct
// trace_header`, followed by `kinds` names of TRACE_NAME_BYTES bytes each: the name of kind 0, kind 1, ... Events
// follow to the end of the file. If the last event is incomplete, the program was killed; a reader stops there.
//
// An event is a `struct trace_event`, followed by `values` numbers of 8 bytes (int64_t). Their meaning depends on the
// kind:
//
//   comm_define               the ranks in MPI_COMM_WORLD of the members of the communicator `comm`, in order (for an
//                             intercommunicator, of its remote group). `comm` exists from this event on, and the call
//                             that made it follows. `peer` is this process's rank in it, `send_bytes` an identifier
//                             on which all its members agree, and `recv_bytes` the identifier of its parent
//   wait*, test*              the ids of the requests that the call completed, as in the calls that started them.
//                             Consecutive calls that completed none are one event
//   startall                  the ids of the requests that were started
//   *v, *w collectives        the counts in bytes that matter on this rank: to each rank, then from each rank.
//                             `send_counts` is the number of counts to ranks
//   others                    none
//
// Times are in nanoseconds of CLOCK_REALTIME. Ranks are those in `comm`. A call is recorded when it returns, so events
// are in order of `leave`; calls of several threads have different values of `thread`.
#ifndef WITNESS_TRACE_FORMAT_H
#define WITNESS_TRACE_FORMAT_H

#include <stdint.h>

#define TRACE_MAGIC "RPRTRACE" // 8 bytes, without the final zero
#define TRACE_VERSION 1U

enum {
    TRACE_NAME_BYTES = 32, // length of a kind's name, padded with zeros: "send", "iallreduce", "file_write_at_all"
    TRACE_HOST_BYTES = 64,
};

struct trace_header {
    char magic[8];
    uint32_t version;
    uint32_t header_bytes; // size of this struct; the names of the kinds begin there
    uint32_t kinds;
    int32_t rank; // in MPI_COMM_WORLD
    int32_t ranks;
    uint32_t pid;
    char host[TRACE_HOST_BYTES];
};

// Special values of a rank or a tag.
#define TRACE_NONE (-1) // the call has none, or it is unknown
#define TRACE_ANY (-2)  // MPI_ANY_SOURCE, MPI_ANY_TAG
#define TRACE_NULL (-3) // MPI_PROC_NULL

struct trace_event {
    uint64_t enter;
    uint64_t leave;
    // bytes that this rank passes to the call: per destination for alltoall, in all for the v-variants
    uint64_t send_bytes;
    uint64_t recv_bytes; // bytes received; the room for them if the call returns before their number is known
    uint32_t comm;       // 0: none, 1: MPI_COMM_WORLD, 2: MPI_COMM_SELF, others as defined by comm_define
    int32_t peer;        // destination of a send, source of a receive, root of a rooted collective
    int32_t tag;
    int32_t source;   // peer from which a sendrecv receives; otherwise TRACE_NONE
    int32_t recv_tag; // tag with which a sendrecv receives; otherwise TRACE_NONE
    uint32_t request; // id of the request that the call started; 0: none. Only persistent requests reuse their ids
    uint32_t values;  // number of values that follow
    uint32_t send_counts;
    uint16_t kind;
    uint16_t thread;    // 0: the first thread that called MPI
    uint32_t type_size; // bytes of one element of the send side; 0: unknown
};

#endif
