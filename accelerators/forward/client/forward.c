// SPDX-License-Identifier: Apache-2.0
// The kernel's position of a descriptor is the only one. A call at the current position first moves the position to
// where it will be after the call, in one system call, which gives each of several threads or processes that share the
// position a range of its own. Then the bytes of the range are moved. If fewer bytes were moved in the end, because the
// file or the disk has ended, the position is moved back by the difference.
#define _GNU_SOURCE
#include "forward.h"

#include <errno.h>
#include <sys/resource.h>
#include <unistd.h>

#include "burst.h"
#include "check.h"
#include "clock.h"
#include "finish.h"
#include "remote.h"
#include "route.h"
#include "signals.h"
#include "transfer.h"

static int64_t position_of(int fd)
{
    return raw_call(SYS_lseek, fd, 0, SEEK_CUR, 0, 0, 0);
}

// Take the range of a call at the current position. Returns its beginning, or a negative number.
static int64_t take_range(const struct request *request, int64_t start, size_t bytes)
{
    const bool current = request->offset == OFFSET_CURRENT;
    return current ? raw_call(SYS_lseek, request->fd, (long)bytes, SEEK_CUR, 0, 0, 0) - (int64_t)bytes : start;
}

// Give back the end of the range that was not moved. Returns what forward() returns.
static int64_t give_back(const struct request *request, int64_t moved, size_t bytes)
{
    const int64_t missing = (int64_t)bytes - (moved > 0 ? moved : 0);
    if (request->offset == OFFSET_CURRENT && missing) {
        raw_call(SYS_lseek, request->fd, -missing, SEEK_CUR, 0, 0, 0);
    }
    return moved < 0 ? FORWARD_NOT + moved : moved;
}

// Return how many bytes a request at `start` moves, if it is to be forwarded, otherwise 0. A read ends where the file
// ends. A write must not exceed the process's limit of a file's size, which the forwarder does not know.
static size_t length_at(const struct request *request, const struct target *target, int64_t start)
{
    const int64_t bytes = request->bytes < CALL_BYTES ? (int64_t)request->bytes : CALL_BYTES;
    struct rlimit limit = {.rlim_cur = 0};
    if (start < 0 || start > INT64_MAX - bytes) {
        return 0;
    }
    if (!request->writing) {
        const int64_t left = target->status.st_size - start;
        return left < state_least_bytes ? 0 : (size_t)(left < bytes ? left : bytes);
    }
    raw_call(SYS_prlimit64, 0, RLIMIT_FSIZE, 0, (long)&limit, 0, 0);
    return limit.rlim_cur != RLIM_INFINITY && (uint64_t)(start + bytes) > limit.rlim_cur ? 0 : (size_t)bytes;
}

static void count(struct state *state, const struct request *request, size_t bytes)
{
    state_count(request->writing ? &state->counters.write_calls : &state->counters.read_calls, 1);
    state_count(request->writing ? &state->counters.write_bytes : &state->counters.read_bytes, bytes);
}

// Move bytes by way of the forwarder, and directly what it did not move.
static int64_t move(struct state *state, struct link *link, struct remote_file *file, const struct request *request,
                    const struct target *target, int64_t start, size_t bytes, enum link_result *result)
{
    const struct settings *settings = state_settings();
    const int64_t patience = request->writing ? settings->write_ns : settings->read_ns;
    size_t done = transfer(link, file, request, start, bytes, 0, patience, result);
    file->dirty |= request->writing;
    if (done == bytes && !file->checked) {
        file->checked = check_bytes(request, target, start, bytes, link->buffer);
        if (!file->checked) {
            state_count(&state->counters.other_files, 1);
            target_shun(state, &target->status, FOREVER_NS);
            done = 0;
        }
    }
    count(state, request, done);
    atomic_store_explicit(&state->marks[request->fd], MARK_FORWARDED, memory_order_relaxed);
    return done == bytes ? (int64_t)done : finish_counted(state, request, start, done, bytes);
}

// Do the call on a file that is open on the forwarder. `start` and `bytes` are what the call was found to move. Returns
// FORWARD_NOT, what the call returns, or FORWARD_NOT plus a negative error number.
static int64_t do_call(struct state *state, struct link *link, struct remote_file *file, const struct request *request,
                       const struct target *target, int64_t start, size_t bytes, enum link_result *result)
{
    start = take_range(request, start, bytes);
    if (start < 0) {
        *result = LINK_REFUSED;
        return FORWARD_NOT;
    }
    return give_back(request, move(state, link, file, request, target, start, bytes, result), bytes);
}

// Do the call by way of the job's burst buffer. Returns what do_call returns.
static int64_t do_burst(struct state *state, const struct request *request, const struct target *target, int64_t start,
                        size_t bytes, bool in_handler)
{
    start = take_range(request, start, bytes);
    if (start < 0) {
        return FORWARD_NOT;
    }
    const int64_t moved = burst_move(state, request, target, start, bytes, in_handler);
    return give_back(request, moved == BURST_NOT ? finish(request, start, 0, bytes) : moved, bytes);
}

static int64_t forward(struct state *state, const struct request *request, const struct target *target, int64_t start,
                       size_t bytes, bool in_handler)
{
    enum link_result result = LINK_OK;
    int64_t returned = FORWARD_NOT;
    if (burst_is_on()) {
        return do_burst(state, request, target, start, bytes, in_handler);
    }
    struct link *link = route_take(state, in_handler);
    if (!link) {
        return FORWARD_NOT;
    }
    struct remote_file *file = remote_find(link, &target->status, request->writing);
    if (!file) {
        result = remote_open(state, link, request->fd, target, request->writing, &file,
                             clock_now_ns() + state_settings()->read_ns);
    }
    if (result == LINK_OK) {
        returned = do_call(state, link, file, request, target, start, bytes, &result);
    }
    route_let_go(state, link, result);
    return returned;
}

// Return the state if the file of the request may have to be forwarded. A descriptor that was found not to be forwarded
// costs no system call for a while.
static struct state *state_for(const struct request *request)
{
    return state_pointer && target_is_left(state_pointer, request->fd) ? NULL : state_get();
}

bool forward_may(const struct request *request)
{
    struct target target;
    struct state *state = state_for(request);
    return state && target_look(state, request, &target);
}

ssize_t forward_request(const struct request *request)
{
    struct target target;
    struct state *state = state_for(request);
    if (!state || !target_look(state, request, &target) || burst_is_direct(state, &target)) {
        burst_before_direct(request);
        return FORWARD_NOT;
    }
    const int64_t start = request->offset == OFFSET_CURRENT ? position_of(request->fd) : request->offset;
    const size_t bytes = length_at(request, &target, start);
    if (!bytes) {
        burst_before_direct(request);
        return FORWARD_NOT;
    }
    if (state_test_cancel) {
        state_test_cancel();
    }
    const uint64_t before = signals_block();
    const int64_t returned = forward(state, request, &target, start, bytes, before & ~state_usual_signals);
    signals_restore(before);
    if (returned == FORWARD_NOT) {
        state_count(&state->counters.direct_calls, 1);
    } else if (returned < FORWARD_NOT) {
        errno = (int)(FORWARD_NOT - returned);
        return -1;
    }
    return (ssize_t)returned;
}
