// SPDX-License-Identifier: Apache-2.0
// Format of an event record: the MPI calls of one rank, in order. REPRISE_WITNESS_TRACE=DIRECTORY requests it.
//
// Each rank writes one file, DIRECTORY/RANK.HOST.PID.trace, in the byte order of its machine. It begins with a `struct
// trace_header`, followed by `kinds` names of TRACE_NAME_BYTES bytes each: the name of kind 0, of kind 1, and so on.
// The rest of the file consists of events. If the last event is incomplete, the program was killed; readers ignore it.
//
// An event is a `struct trace_event`, followed by `values` numbers of 8 bytes (int64_t). Their meaning depends on the
// kind:
//
//   comm_define               the ranks in MPI_COMM_WORLD of the members of the communicator `comm`, in order (for an
//                             intercommunicator, the members of its remote group). `comm` exists from this event on;
//                             the event of the call that made `comm` follows. `peer` is this process's rank in `comm`,
//                             `send_bytes` is an identifier that is equal on all members, and `recv_bytes` is the
//                             identifier of the parent
//   wait*, test*              the ids of the requests that the call completed, as in the calls that started them.
//                             Consecutive calls that completed no request form one event
//   startall                  the ids of the requests that were started
//   *v, *w collectives        the counts in bytes that matter on this rank: those to each rank, then those from each
//                             rank. `send_counts` is the number of counts to ranks
//   neighborhood collectives  the ranks of the neighbors that this rank sends to, the ranks of those it receives from,
//                             the bytes to each of the first, and the bytes from each of the second. `send_counts` is
//                             the number of ranks that this rank sends to; it is 1 without values if the neighbors are
//                             unknown
//   others                    none
//
// Times are in nanoseconds of CLOCK_REALTIME. Ranks are ranks in `comm`. A call is recorded when it returns, so events
// are in the order of `leave`; `thread` distinguishes the calls of several threads.
#ifndef WITNESS_TRACE_FORMAT_H
#define WITNESS_TRACE_FORMAT_H

#include <stdint.h>

#define TRACE_MAGIC "RPRTRACE" // 8 bytes; the final zero is not written
#define TRACE_VERSION 2U

enum {
    TRACE_NAME_BYTES = 32, // length of a kind's name, padded with zeros: "send", "iallreduce", "file_write_at_all"
    TRACE_HOST_BYTES = 64,
};

struct trace_header {
    char magic[8];
    uint32_t version;
    uint32_t header_bytes; // size of this struct, after which the names of the kinds begin
    uint32_t kinds;
    int32_t rank; // rank of this process in MPI_COMM_WORLD
    int32_t ranks;
    uint32_t pid;
    char host[TRACE_HOST_BYTES];
};

// Special values of a rank or a tag.
#define TRACE_NONE (-1) // the call has no such rank or tag, or it is unknown
#define TRACE_ANY (-2)  // MPI_ANY_SOURCE, MPI_ANY_TAG
#define TRACE_NULL (-3) // MPI_PROC_NULL

struct trace_event {
    uint64_t enter;
    uint64_t leave;
    // bytes that this rank passes to the call; per destination for alltoall, in total for the v-variants
    uint64_t send_bytes;
    uint64_t recv_bytes; // bytes received, or the size of the buffer if the call returns before they are known
    uint32_t comm;       // 0 if none, 1 for MPI_COMM_WORLD, 2 for MPI_COMM_SELF, others as comm_define defines
    int32_t peer;        // destination of a send, source of a receive, root of a rooted collective
    int32_t tag;
    int32_t source;   // peer from which a sendrecv receives; otherwise TRACE_NONE
    int32_t recv_tag; // tag with which a sendrecv receives; otherwise TRACE_NONE
    uint32_t request; // id of the request that the call started, or 0; only persistent requests reuse an id
    uint32_t values;  // number of values that follow
    uint32_t send_counts;
    uint16_t kind;
    uint16_t thread;    // 0 for the first thread that called MPI
    uint32_t type_size; // bytes of one element on the sending side; 0 if unknown
};

#endif
