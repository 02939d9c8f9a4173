// SPDX-License-Identifier: Apache-2.0
// Counts MPI calls with their bytes and times, and numbers collectives equally on all ranks.
#define _GNU_SOURCE
#include <sched.h>
#include <string.h>
#include <time.h>

#include "clock.h"
#include "mpi_next.h"
#include "mpi_state.h"
#include "table.h"
#include "trace.h"

// Number of attempts to take the lock before the processor is yielded. To count a call, a thread holds the lock for a
// tenth of a microsecond.
enum { SPINS = 1000 };
// Longest wait for the lock. The thread that holds the lock may itself be waiting, for example for the loader's lock.
static const uint64_t PATIENCE_NS = 10e9;

// True if this thread holds the lock or is about to take it. Its signal handlers must then not wait for the lock.
static __thread volatile bool is_holder __attribute__((tls_model("initial-exec")));

const char *const kind_names[KINDS] = {
#define KIND(kind) #kind,
#define CALL(name, kind, parameters, arguments, description) KIND(kind)
    OTHER_KINDS(KIND)
#include "mpi_calls.def"
#undef CALL
#undef KIND
};

static bool try_lock(void)
{
    struct mpi_state *mpi = mpi_state();

    if (!mpi->has_threads)
        return true;
    if (is_holder)
        return false;
    is_holder = true;
    if (!atomic_exchange_explicit(&mpi->lock, 1, memory_order_acquire))
        return true;
    is_holder = false;
    return false;
}

void mpi_unlock(void)
{
    struct mpi_state *mpi = mpi_state();

    if (mpi->has_threads) {
        atomic_store_explicit(&mpi->lock, 0, memory_order_release);
        is_holder = false;
    }
}

static bool lock_in_time(void)
{
    uint64_t since = 0;

    for (int spins = 0; !try_lock(); spins += spins < SPINS) {
        if (is_holder)
            return false;
        if (spins < SPINS)
            continue;
        const uint64_t now = clock_ns(CLOCK_MONOTONIC);
        since = since ? since : now;
        if (now - since > PATIENCE_NS)
            return false;
        sched_yield();
    }
    return true;
}

// Waits up to PATIENCE_NS for the lock, because skipping a call would shift the numbers of all later calls. These
// numbers must be equal on all ranks.
bool mpi_begin(void)
{
    if (lock_in_time())
        return true;
    mpi_state()->lost++;
    return false;
}

// Waits without a limit, because a thread that has begun to count a call must finish, and other threads hold the lock
// only briefly. In a signal handler of the thread that holds the lock, this function would wait forever, so it returns
// false. The interrupted thread may have updated only some of the counts, so counting is then switched off.
bool mpi_lock(void)
{
    for (int spins = 0; !try_lock(); spins += spins < SPINS) {
        if (is_holder) {
            mpi_state()->is_on = false;
            mpi_state()->lost++;
            return false;
        }
        if (spins == SPINS)
            sched_yield();
    }
    return true;
}

uint64_t mpi_bytes(int count, MPI_Datatype type)
{
    __typeof__(&MPI_Type_size) get_size = NEXT(PMPI_Type_size);
    static MPI_Datatype none;
    int size = 0;

    if (!none)
        none = NO_TYPE;
    // For a null or unusable type, MPI would call the program's error handler; only the program's own calls may cause
    // that.
    if (count <= 0 || !get_size || !type || type == none || get_size(type, &size) != MPI_SUCCESS || size < 0)
        return 0;
    return (uint64_t)count * (uint64_t)size;
}

// -- before the call

void call_on(struct mpi_call *call, MPI_Comm handle, int peer, int tag)
{
    struct comm *comm = comms_find(handle);

    call->handle = handle;
    call->peer = peer;
    call->tag = tag;
    if (comm)
        call->comm = *comm;
    else
        comms_ask(handle, &call->comm);
}

void call_message(struct mpi_call *call, bool is_send, uint64_t bytes, int peer, int tag, MPI_Comm handle)
{
    call->family = FAMILY_MESSAGE;
    call->is_send = is_send;
    *(is_send ? &call->send_bytes : &call->recv_bytes) = bytes;
    call_on(call, handle, peer, tag);
    if (!call->is_persistent)
        call->sample = channel_next(comms_find(handle), peer, tag, is_send);
}

void call_collective(struct mpi_call *call, MPI_Comm handle, int root)
{
    struct comm *comm = comms_find(handle);

    call->family = FAMILY_COLLECTIVE;
    call_on(call, handle, root, TRACE_NONE);
    if (comm)
        // Setting bit 31 makes the key nonzero, and leaves the lowest bits, which select the samples, well mixed.
        call->sample = mix(comm->id, comm->collectives++) | 1U << 31;
}

static uint64_t sum(const int *counts, MPI_Datatype type, const MPI_Datatype *types, int size, uint64_t *largest)
{
    const uint64_t each = types ? 0 : mpi_bytes(1, type);
    uint64_t all = 0;

    for (int i = 0; counts && i < size; i++) {
        const uint64_t bytes =
            types ? mpi_bytes(counts[i], types[i]) : each * (uint64_t)(counts[i] > 0 ? counts[i] : 0);
        all += bytes;
        *largest = bytes > *largest ? bytes : *largest;
    }
    return all;
}

int call_parts(const struct mpi_call *call)
{
    const bool is_own_group = call->kind == KIND_reduce_scatter || call->kind == KIND_ireduce_scatter;

    return !call->comm.handle ? 0 : is_own_group ? call->comm.size : call->comm.peers;
}

void call_counts(struct mpi_call *call)
{
    const int size = call_parts(call);
    const int out = call->is_neighborhood ? call->out : size;
    const int in = call->is_neighborhood ? call->in : size;

    if (call->send_counts)
        call->send_bytes = sum(call->send_counts, call->send_type, call->send_types, out, &call->largest);
    if (call->recv_counts)
        call->recv_bytes = sum(call->recv_counts, call->recv_type, call->recv_types, in, &call->largest);
}

void mpi_enter(struct mpi_call *call)
{
    mpi_unlock();
    witness_inside++;
    call->enter = clock_ticks();
}

// -- after the call

struct cell *cells_find(struct cell *cells, uint64_t key)
{
    uint32_t at = (uint32_t)mix(key, 3) % CELLS_MAX;

    for (int i = 0; i < 64; i++, at = (at + 1) % CELLS_MAX) {
        if (cells[at].key == key)
            return &cells[at];
        if (!cells[at].key) {
            cells[at].key = key;
            return &cells[at];
        }
    }
    return NULL;
}

// Return the key of a message's cell. Bits 0 to 7 are the class, bits 8 to 39 the peer's rank in MPI_COMM_WORLD plus 2,
// and bit 63 is always set.
uint64_t message_key(int world, uint64_t bytes)
{
    return 1ULL << 63 | (uint64_t)(uint32_t)(world + 2) << 8 | state_class(bytes);
}

// Return the key of a collective's cell. Bits 0 to 7 are the class, bits 8 to 23 the shape, bits 24 to 39 the kind, and
// bit 63 is always set.
uint64_t collective_key(enum kind kind, uint32_t shape, uint64_t bytes)
{
    return 1ULL << 63 | (uint64_t)kind << 24 | (uint64_t)shape << 8 | state_class(bytes);
}

// Return the cell of a message. If no cell is free, the message is counted under an unknown peer.
static struct cell *message_cell(uint64_t key)
{
    struct mpi_state *mpi = mpi_state();
    struct cell *cell = cells_find(mpi->messages, key);

    if (!cell)
        cell = cells_find(mpi->messages, message_key(-1, 0) | (key & 0xff));
    if (!cell)
        mpi->lost++;
    return cell;
}

void count_message(int world, uint64_t bytes, uint64_t ticks, bool is_send)
{
    struct cell *cell = message_cell(message_key(world, bytes));

    if (!cell)
        return;
    cell->calls++;
    cell->sent += is_send;
    cell->bytes += bytes;
    cell->largest = bytes > cell->largest ? bytes : cell->largest;
    cell->ticks += ticks;
}

void count_idle(uint64_t ticks)
{
    struct cell *cell = message_cell(message_key(-1, 0));

    if (cell)
        cell->ticks += ticks;
}

void count_file(enum family family, uint64_t bytes, uint64_t ticks, bool is_new)
{
    struct cell *cell = &mpi_state()->files[(family - FAMILY_READ) * CLASSES + state_class(bytes)];

    cell->calls += is_new;
    cell->bytes += is_new ? bytes : 0;
    cell->ticks += ticks;
}

void samples_add(struct samples *samples, const struct sample *sample)
{
    if (!samples->stride)
        samples->stride = 1;
    while (samples->count == SAMPLES_MAX) {
        uint32_t kept = 0;
        samples->stride *= 2;
        for (uint32_t i = 0; i < SAMPLES_MAX; i++)
            if (samples_want(samples, samples->samples[i].key))
                samples->samples[kept++] = samples->samples[i];
        samples->count = kept;
    }
    if (samples_want(samples, sample->key))
        samples->samples[samples->count++] = *sample;
}

static void sample(const struct request *call, uint64_t enter, uint64_t leave)
{
    struct mpi_state *mpi = mpi_state();
    const bool is_message = call->family == FAMILY_MESSAGE;
    struct samples *samples = is_message ? &mpi->message_samples : &mpi->collective_samples;

    if (!call->sample || !samples_want(samples, call->sample))
        return;
    samples_add(samples, &(struct sample){
                             .key = call->sample,
                             .arrived = call->arrived,
                             .blocked = enter,
                             .left = leave,
                             .kind = call->kind,
                             .is_send = call->is_send,
                             .class = (uint8_t)state_class(call->bytes),
                             .other = call->other,
                         });
}

void count_completion(const struct request *request, uint64_t enter, uint64_t leave, uint64_t share)
{
    struct cell *cell = NULL;

    if (request->family == FAMILY_MESSAGE)
        cell = message_cell(request->cell);
    else if (request->family == FAMILY_COLLECTIVE)
        cell = cells_find(mpi_state()->collectives, request->cell);
    else
        count_file((enum family)request->family, request->bytes, share, false);
    if (cell)
        cell->ticks += share;
    sample(request, enter, leave);
}

// Return the description of a call as a `struct request`, even if the call is blocking and starts no request.
static struct request as_request(const struct mpi_call *call)
{
    struct request request = {
        .sample = call->sample,
        .arrived = call->waited ? call->waited : call->enter,
        .bytes = call->send_bytes ? call->send_bytes : call->recv_bytes,
        .id = call->request_id,
        .other = comms_world_rank(&call->comm, call->peer),
        .kind = (uint16_t)call->kind,
        .family = (uint8_t)call->family,
        .is_send = call->is_send,
        .is_persistent = call->is_persistent,
        .comm = call->comm.handle,
        .peer = call->peer,
        .tag = call->tag,
    };

    if (call->family == FAMILY_MESSAGE)
        request.cell = message_key(request.other, request.bytes);
    else if (call->family == FAMILY_COLLECTIVE)
        request.cell = collective_key(call->kind, call->comm.shape, request.bytes);
    return request;
}

static void count(struct mpi_call *call, const struct request *as, uint64_t ticks)
{
    struct cell *cell;

    switch (call->family) {
    case FAMILY_MESSAGE:
        if (!call->is_persistent && call->peer != MPI_PROC_NULL)
            count_message(as->other, as->bytes, ticks, call->is_send);
        break;
    case FAMILY_COLLECTIVE:
        cell = cells_find(mpi_state()->collectives, as->cell);
        if (!cell) {
            mpi_state()->lost++;
            break;
        }
        cell->calls++;
        cell->bytes += as->bytes;
        const uint64_t largest = call->largest ? call->largest : as->bytes;
        cell->largest = largest > cell->largest ? largest : cell->largest;
        cell->ticks += ticks;
        break;
    case FAMILY_READ:
    case FAMILY_WRITE:
    case FAMILY_IO_META:
        count_file(call->family, as->bytes, ticks, true);
        break;
    case FAMILY_PROBE:
        count_idle(ticks);
        break;
    default:
        break;
    }
}

void mpi_record(const struct mpi_call *call)
{
    if (*witness_trace)
        trace_call(call);
}

void mpi_leave(struct mpi_call *call, int code)
{
    struct mpi_state *mpi = mpi_state();

    call->leave = clock_ticks();
    witness_inside--;
    if (!mpi_lock())
        return;
    if (code == MPI_SUCCESS) {
        const uint64_t ticks = call->leave - call->enter;
        if (call->request)
            call->request_id = ++mpi->request_numbers;
        const struct request as = as_request(call);
        mpi->kind_ticks[call->kind] += ticks;
        mpi->kind_calls[call->kind]++;
        count(call, &as, ticks);
        if (call->request)
            requests_add(*call->request, &as);
        else
            sample(&as, call->waited ? call->waited : call->enter, call->leave);
        if (call->made) { // the communicator's record must precede the record of this call
            comms_made(comms_find(call->handle), *call->made);
            call->leave = clock_ticks();
        }
        mpi_record(call);
    }
    mpi_unlock();
}
