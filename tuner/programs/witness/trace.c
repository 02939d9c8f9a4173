// SPDX-License-Identifier: Apache-2.0
// Collects events in memory and writes them in parts. The file is opened for each part, so that the program may do
// anything with its descriptors meanwhile.
#define _GNU_SOURCE
#include "trace.h"

#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "clock.h"
#include "mpi_next.h"
#include "mpi_state.h"
#include "raw.h"

enum {
    BUFFER_BYTES = 1 << 20,
    POLL_NS = 1000, // longest time in nanoseconds between two polls that become one event; a poll takes about 100 ns
};

static char *buffer;
static size_t filled;
static size_t last = BUFFER_BYTES; // position of the last event in the buffer; BUFFER_BYTES if it is not in the buffer
static bool has_begun;
static bool is_broken; // the file could not be written; events are missing, so no more are recorded
// CLOCK_REALTIME minus CLOCK_MONOTONIC, in nanoseconds. Adding it to a tick gives CLOCK_REALTIME, because with an event
// record, ticks are nanoseconds of CLOCK_MONOTONIC.
static uint64_t offset;
static pid_t owner; // the process that records; a forked child records nothing

static void write_part(const void *data, size_t length)
{
    static char path[PATH_MAX + 128]; // static, because a stack may be small
    char host[TRACE_HOST_BYTES] = "";

    gethostname(host, sizeof(host) - 1);
    snprintf(path, sizeof(path), "%s/%d.%s.%d.trace", witness_trace, mpi_state()->rank, host, (int)owner);
    int fd = raw_open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0644);
    for (const char *at = data; fd >= 0 && length;) {
        ssize_t written = raw_append(fd, at, length);
        if (written <= 0)
            break;
        at += written;
        length -= (size_t)written;
    }
    if (fd >= 0)
        raw_close(fd);
    is_broken = is_broken || length;
}

static void begin(void)
{
    struct trace_header header = {
        .version = TRACE_VERSION,
        .header_bytes = sizeof(header),
        .kinds = KINDS,
        .rank = mpi_state()->rank,
        .ranks = mpi_state()->ranks,
        .pid = (uint32_t)getpid(),
    };

    has_begun = true;
    owner = getpid();
    offset = witness->realtime - witness->monotonic;
    memcpy(header.magic, TRACE_MAGIC, sizeof(header.magic));
    gethostname(header.host, sizeof(header.host) - 1);
    buffer = malloc(BUFFER_BYTES);
    if (!buffer) {
        is_broken = true;
        return;
    }
    memcpy(buffer, &header, sizeof(header));
    filled = sizeof(header);
    for (int i = 0; i < KINDS; i++, filled += TRACE_NAME_BYTES) {
        memset(buffer + filled, 0, TRACE_NAME_BYTES);
        memcpy(buffer + filled, kind_names[i], strlen(kind_names[i])); // a test checks that all names fit
    }
}

void trace_flush(void)
{
    if (!has_begun || is_broken || !filled || getpid() != owner)
        return;
    write_part(buffer, filled);
    filled = 0;
    last = BUFFER_BYTES;
}

void trace_add(const struct trace_event *event, const int64_t *values)
{
    const size_t length = event->values * sizeof(*values);
    struct trace_event shifted = *event;

    if (!has_begun)
        begin();
    if (is_broken)
        return;
    shifted.enter += offset;
    shifted.leave += offset;
    if (filled + sizeof(shifted) + length > BUFFER_BYTES)
        trace_flush();
    if (sizeof(shifted) + length > BUFFER_BYTES) {
        write_part(&shifted, sizeof(shifted));
        write_part(values, length);
        return;
    }
    last = filled;
    memcpy(buffer + filled, &shifted, sizeof(shifted));
    if (length)
        memcpy(buffer + filled + sizeof(shifted), values, length);
    filled += sizeof(shifted) + length;
}

static bool finds_nothing(const struct trace_event *event)
{
    switch (event->kind) {
    case KIND_test:
    case KIND_testall:
    case KIND_testany:
    case KIND_testsome:
    case KIND_iprobe:
    case KIND_improbe:
        return !event->values;
    default:
        return false;
    }
}

// If a call and the last event are equal polls without a result, and the call follows the event within POLL_NS, extend
// the event to include the call. Otherwise, return false. A program that polls makes ten million such calls per second,
// and an event for each of them would fill the disk.
static bool is_taken_in(const struct trace_event *event)
{
    struct trace_event before;

    if (last == BUFFER_BYTES || !finds_nothing(event))
        return false;
    memcpy(&before, buffer + last, sizeof(before));
    if (before.kind != event->kind || before.thread != event->thread || before.comm != event->comm ||
        before.peer != event->peer || before.tag != event->tag || before.values ||
        event->enter + offset - before.leave > POLL_NS)
        return false;
    before.leave = event->leave + offset;
    memcpy(buffer + last, &before, sizeof(before));
    return true;
}

static int32_t as_peer(int rank)
{
    if (rank == MPI_ANY_SOURCE)
        return TRACE_ANY;
    if (rank == MPI_PROC_NULL)
        return TRACE_NULL;
    return rank < 0 ? TRACE_NONE : rank;
}

static uint32_t put_counts(int64_t *values, const int *counts, MPI_Datatype type, const MPI_Datatype *types, int size)
{
    const uint64_t each = types || !counts ? 0 : mpi_bytes(1, type);

    for (int i = 0; counts && i < size; i++)
        values[i] = (int64_t)(types ? mpi_bytes(counts[i], types[i]) : each * (uint64_t)counts[i]);
    return counts ? (uint32_t)size : 0;
}

static uint16_t thread_number(void)
{
    static _Atomic uint32_t threads;
    static __thread uint32_t number __attribute__((tls_model("initial-exec")));

    if (!number)
        number = atomic_fetch_add(&threads, 1) + 1;
    return (uint16_t)(number - 1);
}

// Write the ranks of the neighbors and the bytes for each to `values`, in the order of trace_format.h. Returns false if
// the neighbors are unknown.
static bool put_neighbors(int64_t *values, const struct mpi_call *call)
{
    const int all = call->out + call->in;
    int *ranks = malloc((size_t)all * sizeof(*ranks) + 1);
    const bool is_known = ranks && neighbors_find(call, ranks, ranks + call->out);

    for (int i = 0; is_known && i < all; i++) {
        values[i] = as_peer(ranks[i]);
        values[all + i] = (int64_t)(i < call->out ? call->send_bytes : call->recv_bytes); // equal for all neighbors
    }
    free(ranks);
    if (is_known) {
        put_counts(values + all, call->send_counts, call->send_type, call->send_types, call->out);
        put_counts(values + all + call->out, call->recv_counts, call->recv_type, call->recv_types, call->in);
    }
    return is_known;
}

void trace_call(const struct mpi_call *call)
{
    const int size = call->is_neighborhood ? call->out + call->in : call_parts(call);
    const bool has_counts = call->send_counts || call->recv_counts || call->is_neighborhood;
    int64_t *counts = has_counts ? malloc(2 * (size_t)size * sizeof(*counts) + 1) : NULL;
    struct trace_event event = {
        .enter = call->enter,
        .leave = call->leave,
        .send_bytes = call->send_bytes,
        .recv_bytes = call->recv_bytes,
        .comm = call->comm.number,
        .peer = TRACE_NONE,
        .tag = TRACE_NONE,
        .source = TRACE_NONE,
        .recv_tag = TRACE_NONE,
        .request = call->request_id,
        .values = call->value_count,
        .kind = (uint16_t)call->kind,
        .thread = thread_number(),
        .type_size = call->type_size,
    };

    if (call->family == FAMILY_MESSAGE || call->family == FAMILY_PROBE) {
        event.peer = as_peer(call->peer);
        event.tag = call->tag == MPI_ANY_TAG ? TRACE_ANY : call->tag;
        if (call->kind == KIND_sendrecv || call->kind == KIND_sendrecv_replace) {
            event.source = as_peer(call->source);
            event.recv_tag = call->recv_tag == MPI_ANY_TAG ? TRACE_ANY : call->recv_tag;
        }
    } else if (call->family == FAMILY_COLLECTIVE) {
        event.peer = as_peer(call->peer);
    }
    if (counts && call->is_neighborhood) {
        const bool is_known = put_neighbors(counts, call);
        event.values = is_known ? 2 * (uint32_t)size : 0;
        event.send_counts = is_known ? (uint32_t)call->out : 1;
    } else if (counts) {
        event.send_counts = put_counts(counts, call->send_counts, call->send_type, call->send_types, size);
        event.values = event.send_counts + put_counts(counts + event.send_counts, call->recv_counts, call->recv_type,
                                                      call->recv_types, size);
    }
    if (!is_taken_in(&event))
        trace_add(&event, counts ? counts : call->values);
    free(counts);
}
