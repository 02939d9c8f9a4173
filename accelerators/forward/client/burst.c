// SPDX-License-Identifier: Apache-2.0
#define _GNU_SOURCE
#include "burst.h"

#include <fcntl.h>

#include "check.h"
#include "clock.h"
#include "drain.h"
#include "finish.h"
#include "remote.h"
#include "route.h"
#include "signals.h"
#include "stripe.h"
#include "sync.h"
#include "transfer.h"

// 1 if this process may have written to a file with this hash, or may have mapped it into memory. Not in the state,
// because a forked child has its parent's streams and mappings.
static _Atomic uint8_t written[HASHES], mapped[HASHES];

static _Atomic uint8_t *place(_Atomic uint8_t *hashes, const struct stat *status)
{
    return &hashes[state_hash(status->st_ino) % HASHES];
}

// Compare the first bytes that a connection moves with those that the kernel sees once they are in the file system.
// They are those of the call from `begin` to `end`.
static bool is_right(struct state *state, struct link *link, const struct request *request, const struct target *target,
                     int64_t start, size_t begin, size_t end, enum link_result *result)
{
    const int64_t deadline = clock_now_ns() + FSYNC_WAIT_NS;
    *result = link->checked ? LINK_OK : remote_settle(state, link, request->fd, target, deadline);
    if (*result != LINK_OK || link->checked) {
        return true;
    }
    size_t inside = begin, bytes = end - begin;
    int vector = 0;
    while (inside >= request->vectors[vector].iov_len) {
        inside -= request->vectors[vector++].iov_len;
    }
    struct request part = *request;
    part.vectors = link->vectors;
    part.count = transfer_gather(request, vector, inside, &bytes, link->vectors);
    link->checked = check_bytes(&part, target, start + (int64_t)begin, bytes, link->buffer);
    if (!link->checked) {
        state_count(&state->counters.other_files, 1);
        target_shun(state, &target->status, FOREVER_NS);
    }
    return link->checked;
}

// Make the kernel see the size of a file that a delayed write made longer: write the call's last byte directly. Returns
// false if that fails, for example because the disk is full.
static bool extend(const struct request *request, const struct target *target, int64_t start, size_t bytes)
{
    size_t before = bytes - 1;
    int vector = 0;
    if (start + (int64_t)bytes <= target->status.st_size) {
        return true;
    }
    while (before >= request->vectors[vector].iov_len) {
        before -= request->vectors[vector++].iov_len;
    }
    return raw_call(SYS_pwrite64, request->fd, (long)link_at(request->vectors[vector].iov_base, before), 1,
                    start + (int64_t)bytes - 1, 0, 0) == 1;
}

// Wait until the burst buffer of a stripe has no data of the file.
static void settle_stripe(struct state *state, int fd, const struct target *target, uint64_t stripe, bool in_handler)
{
    const int64_t deadline = clock_now_ns() + FSYNC_WAIT_NS;
    enum link_result result = LINK_ENDED;
    while (result == LINK_ENDED || result == LINK_LOST) {
        struct link *link = stripe_take(state, state_hash(target->status.st_ino), stripe, in_handler,
                                        clock_now_ns() + state_settings()->write_ns);
        if (!link) {
            return;
        }
        result = link->delays ? remote_settle(state, link, fd, target, deadline) : LINK_REFUSED;
        route_let_go(state, link, result == LINK_OK ? LINK_REFUSED : result);
        if (clock_now_ns() > deadline) {
            return;
        }
        if (result == LINK_ENDED || result == LINK_LOST) {
            raw_pause(BURST_RETRY_NS);
        }
    }
}

// Wait for the data of all stripes. The kernel knows the size, also with delayed data, but not if the data before `end`
// are those of this very call.
static void settle(struct state *state, int fd, const struct target *target, int64_t end, bool in_handler)
{
    char address[ADDRESS_BYTES];
    struct stat status;
    const int64_t known = raw_fstat(fd, &status) ? target->status.st_size : status.st_size;
    const int64_t size = known > end ? known : end;
    const uint32_t count = size > 0 ? route_of(state, 0, 0, address) : 0;
    const uint64_t turns = count < BURST_SPREAD ? count : BURST_SPREAD;
    for (uint64_t i = 0; i < turns && i <= stripe_of(size - 1); i++) {
        settle_stripe(state, fd, target, i, in_handler);
    }
}

// Note a write that was delayed. Returns what the call moved.
static int64_t note_write(struct state *state, const struct request *request, const struct target *target,
                          int64_t start, int64_t moved, size_t bytes, bool in_handler)
{
    atomic_store_explicit(place(written, &target->status), 1, memory_order_relaxed);
    const bool extended = extend(request, target, start, (size_t)moved);
    if (!extended || burst_is_direct(state, target)) { // another thread may have mapped the file meanwhile
        settle(state, request->fd, target, start + moved, in_handler);
    }
    return extended ? moved : finish(request, start, 0, bytes); // the program gets the kernel's error
}

// Move the part of the call from `done` to `bytes` through one link. Returns how many bytes from the beginning were
// moved; `*opened` is whether the burst buffer has the file.
static size_t move_some(struct state *state, struct link *link, const struct request *request,
                        const struct target *target, int64_t start, size_t bytes, size_t done, bool *opened,
                        enum link_result *result)
{
    const struct settings *settings = state_settings();
    // A burst buffer cannot be done without.
    const int64_t brief = link->delays ? settings->write_ns : settings->read_ns;
    const int64_t patience = request->writing ? settings->write_ns : brief;
    struct remote_file *file = remote_find(link, &target->status, request->writing);
    if (!file) {
        *result = remote_open(state, link, request->fd, target, request->writing, &file, clock_now_ns() + brief);
        if (*result != LINK_OK) {
            return done;
        }
    }
    const size_t before = done;
    *opened = true;
    done = transfer(link, file, request, start, bytes, done, patience, result);
    file->dirty |= request->writing && done > before;
    if (*result == LINK_OK && !is_right(state, link, request, target, start, before, bytes, result)) {
        *result = LINK_REFUSED;
        return 0;
    }
    return done;
}

int64_t burst_move(struct state *state, const struct request *request, const struct target *target, int64_t start,
                   size_t bytes, bool in_handler)
{
    const int64_t deadline = clock_now_ns() + state_settings()->write_ns;
    enum link_result result = LINK_ENDED;
    bool delays = false, opened = false;
    size_t done = 0;
    while (done < bytes && result != LINK_REFUSED) {
        const uint64_t stripe = stripe_of(start + (int64_t)done);
        const size_t end = stripe_end(start, bytes, done);
        struct link *link = stripe_take(state, state_hash(target->status.st_ino), stripe, in_handler, deadline);
        if (!link) {
            break;
        }
        const bool is_plain = !link->delays; // then the kernel sees the same bytes
        if (is_plain && ((int64_t)bytes < state_settings()->least_bytes || route_avoids(state, link->address))) {
            route_let_go(state, link, LINK_REFUSED);
            break;
        }
        delays |= link->delays;
        if (link->delays && request->writing) {
            atomic_store_explicit(&state->owing[link->number % OWING_MAX], 1, memory_order_relaxed);
        }
        done = move_some(state, link, request, target, start, end, done, &opened, &result);
        if (result == LINK_ENDED && link->faulted) { // the program gets the kernel's error
            remote_end(state, link, LINK_OK);
            result = LINK_REFUSED;
        }
        route_let_go(state, link, result);
        if (done < end && result != LINK_REFUSED) {
            if (is_plain || clock_now_ns() > deadline) {
                break;
            }
            raw_pause(BURST_RETRY_NS);
        }
    }
    if (!done && !opened) {
        return BURST_NOT;
    }
    atomic_store_explicit(&state->marks[request->fd], MARK_FORWARDED, memory_order_relaxed);
    state_count(request->writing ? &state->counters.write_calls : &state->counters.read_calls, 1);
    state_count(request->writing ? &state->counters.write_bytes : &state->counters.read_bytes, done);
    if (done < bytes && delays) { // the rest is done directly, after what is delayed
        settle(state, request->fd, target, start + (int64_t)bytes, in_handler);
    }
    const int64_t moved = done == bytes ? (int64_t)done : finish_counted(state, request, start, done, bytes);
    return request->writing && delays && moved > 0 ? note_write(state, request, target, start, moved, bytes, in_handler)
                                                   : moved;
}

void burst_settle(int fd)
{
    struct state *state = burst_is_on() ? state_get() : NULL;
    struct target target;
    if (!state || !target_is_file(state, fd, &target) || !target.status.st_size) {
        return;
    }
    const uint64_t before = signals_block();
    settle(state, fd, &target, 0, (before & ~state_usual_signals) != 0);
    signals_restore(before);
}

void burst_before_direct(const struct request *request)
{
    struct state *state = burst_is_on() ? state_get() : NULL;
    struct target target;
    if (!state || !target_is_file(state, request->fd, &target)) {
        return;
    }
    const long flags = raw_call(SYS_fcntl, request->fd, F_GETFL, 0, 0, 0, 0);
    if (!(request->writing && (flags & O_APPEND))) { // what is appended meets no other data
        burst_settle(request->fd);
    }
}

bool burst_is_direct(struct state *state, const struct target *target)
{
    return burst_is_on() && (atomic_load(place(mapped, &target->status)) || atomic_load(&state->ending));
}

void burst_settle_and_leave(int fd)
{
    struct state *state = state_get();
    struct target target;
    if (state && burst_is_on() && target_is_file(state, fd, &target)) {
        atomic_store(place(mapped, &target.status), 1); // first, so that other threads delay nothing any more
        burst_settle(fd);
    }
}

// Open a path only to look at its file. Returns a descriptor; -1 if there is no file, or the job has no burst buffer.
static int open_path(int directory, const char *path, int flags)
{
    if (!state_get() || !burst_is_on() || !path) {
        return -1;
    }
    const long fd = raw_call(SYS_openat, directory, (long)path, O_PATH | O_CLOEXEC | flags, 0, 0, 0);
    return fd < 0 ? -1 : (int)fd;
}

void burst_settle_path(int directory, const char *path)
{
    const int fd = open_path(directory, path, 0);
    if (fd >= 0) {
        burst_settle(fd);
        raw_call(SYS_close, fd, 0, 0, 0, 0, 0);
    }
}

void burst_before_rename(int directory, const char *path)
{
    struct stat status;
    const int fd = open_path(directory, path, O_NOFOLLOW);
    if (fd < 0) {
        return;
    }
    if (!raw_fstat(fd, &status) && S_ISDIR(status.st_mode) && target_is_on_a_prefix(state_get(), &status)) {
        drain(state_get(), true);
    } else {
        burst_settle(fd);
    }
    raw_call(SYS_close, fd, 0, 0, 0, 0, 0);
}

void burst_after_rename(int directory, const char *path)
{
    struct target target;
    const int fd = open_path(directory, path, O_NOFOLLOW);
    if (fd < 0) {
        return;
    }
    if (target_is_file(state_get(), fd, &target)) {
        sync_close(state_get(), fd); // otherwise its fid would be used, which says nothing about the path
        burst_settle(fd);
    }
    raw_call(SYS_close, fd, 0, 0, 0, 0, 0);
}

void burst_settle_own(int fd)
{
    struct state *state = state_get();
    struct stat status;
    if (state && !raw_fstat(fd, &status) && atomic_load_explicit(place(written, &status), memory_order_relaxed)) {
        burst_settle(fd);
    }
}
