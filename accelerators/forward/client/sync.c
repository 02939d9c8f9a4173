// SPDX-License-Identifier: Apache-2.0
#include "sync.h"

#include <errno.h>
#include <limits.h>
#include <time.h>

#include "burst.h"
#include "clock.h"
#include "debts.h"
#include "descriptors.h"
#include "drain.h"
#include "remote.h"
#include "route.h"
#include "signals.h"

// Take a link, for which the thread waits while another thread moves data through it. Returns false if that takes too
// long.
static bool wait_for(struct link *link, int64_t deadline_ns)
{
    while (!state_try(&link->busy)) {
        if (clock_now_ns() > deadline_ns) {
            return false;
        }
        raw_pause(50000);
    }
    return true;
}

// Call `work` for each link with an open file that is the one of `status`, or with any open file if `status` is NULL.
static void for_each(struct state *state, const struct stat *status,
                     enum link_result (*work)(struct state *state, struct link *link, struct remote_file *file,
                                              void *argument),
                     void *argument, int64_t deadline_ns)
{
    for (int i = 0; i < LINKS_MAX; i++) {
        struct link *link = &state->links[i];
        enum link_result result = LINK_REFUSED;
        if (!link->address[0] || !wait_for(link, deadline_ns)) {
            continue;
        }
        for (int j = 0; j < REMOTE_FILES_MAX && result != LINK_ENDED && result != LINK_LOST; j++) {
            struct remote_file *file = &link->files[j];
            if (file->fid && (!status || (file->ino == status->st_ino && file->dev == status->st_dev))) {
                result = link_is_whole(link) && link->in_order ? work(state, link, file, argument) : LINK_ENDED;
            }
        }
        route_let_go(state, link, result == LINK_OK ? LINK_REFUSED : result);
    }
}

// Return the longest wait for a close, which may have to wait for delayed data.
static int64_t close_wait_ns(void)
{
    return burst_is_on() ? FSYNC_WAIT_NS : CLOSE_WAIT_NS;
}

static enum link_result close_one(struct state *state, struct link *link, struct remote_file *file, void *argument)
{
    int *error = argument;
    const bool dirty = file->dirty;
    const enum link_result result = remote_close(state, link, file, clock_now_ns() + close_wait_ns());
    *error = dirty && result == LINK_REFUSED ? EIO : *error;
    return result;
}

struct order {
    bool only_data;
    int error; // of a forwarder's fsync
};

static enum link_result sync_one(struct state *state, struct link *link, struct remote_file *file, void *argument)
{
    struct order *order = argument;
    (void)state;
    if (!file->dirty) {
        return LINK_REFUSED;
    }
    const enum link_result result = remote_sync(link, file, order->only_data, clock_now_ns() + FSYNC_WAIT_NS);
    if (result == LINK_REFUSED) { // as the kernel does, report the loss once
        file->dirty = false;
        order->error = EIO;
    }
    return result;
}

// Try once to pay a debt. Notes in it whether data are lost.
static enum link_result try_to_pay(struct state *state, int fd, struct debt *debt, bool only_data, bool in_handler)
{
    const int64_t deadline = clock_now_ns() + FSYNC_WAIT_NS;
    struct target target;
    struct remote_file *file = NULL;
    enum link_result result = LINK_OK;
    if (raw_fstat(fd, &target.status) || !target.status.st_nlink) {
        return LINK_OK;
    }
    struct link *link = route_take_to(state, debt->address, in_handler, clock_now_ns() + PAY_WAIT_NS, &result);
    if (!link) {
        return burst_is_on() && result == LINK_REFUSED ? LINK_ENDED : result; // other threads have all links
    }
    file = remote_find(link, &target.status, true);
    result = file ? LINK_OK : remote_open(state, link, fd, &target, true, &file, clock_now_ns() + PAY_WAIT_NS);
    if (result == LINK_OK) {
        result = remote_sync(link, file, only_data, deadline);
        debt->failed |= result == LINK_REFUSED;
    }
    debt->lost |= link->delays && result == LINK_ENDED && !state_settings()->burst_keeps;
    route_let_go(state, link, result == LINK_OK ? LINK_REFUSED : result);
    return result;
}

// Make the forwarder that wrote a file write it to its disk, although the file is no longer open there. Returns an
// error number if the forwarder's node cannot be reached, because then it may have lost the data. If only the forwarder
// has ended, its node still has the data and writes them to disk by itself. A burst buffer's successor must be asked.
static int pay(struct state *state, int fd, struct debt *debt, bool only_data, bool in_handler)
{
    const int64_t deadline = clock_now_ns() + PAY_WAIT_NS;
    enum link_result result = try_to_pay(state, fd, debt, only_data, in_handler);
    while (burst_is_on() && (result == LINK_ENDED || result == LINK_LOST) && clock_now_ns() < deadline) {
        raw_pause(BURST_RETRY_NS);
        result = try_to_pay(state, fd, debt, only_data, in_handler);
    }
    const bool unpaid = burst_is_on() ? debt->lost || result == LINK_ENDED : result != LINK_OK && debt->lost;
    return debt->failed || unpaid || result == LINK_LOST ? EIO : 0;
}

int sync_file(int fd, bool only_data)
{
    struct state *state = state_get();
    struct stat status;
    struct debt debt;
    struct order order = {.only_data = only_data};
    if (!state || !atomic_load(&state->counters.write_calls) || raw_fstat(fd, &status)) {
        return 0;
    }
    const uint64_t before = signals_block();
    for_each(state, &status, sync_one, &order, clock_now_ns() + FSYNC_WAIT_NS);
    while (debts_take(&state->debts, &status, &debt)) {
        const int error = pay(state, fd, &debt, only_data, before & ~state_usual_signals);
        order.error = error ? error : order.error;
    }
    signals_restore(before);
    return order.error;
}

void sync_all(void)
{
    struct state *state = state_get();
    struct order order = {.only_data = false};
    if (state && atomic_load(&state->counters.write_calls)) {
        const uint64_t before = signals_block();
        for_each(state, NULL, sync_one, &order, clock_now_ns() + FSYNC_WAIT_NS);
        signals_restore(before);
    }
}

// Close the connections when the process ends, so that the forwarder closes its files even if a child has copies of the
// sockets.
__attribute__((destructor)) static void end_all(void)
{
    struct state *state = state_get();
    if (state) {
        atomic_store(&state->ending, true);
        drain(state, false);
    }
    const uint64_t before = signals_block();
    for (int i = 0; state && i < LINKS_MAX; i++) {
        if (state->links[i].address[0] && state_try(&state->links[i].busy)) {
            remote_end(state, &state->links[i], LINK_OK);
            state_let_go(&state->links[i].busy);
        }
    }
    signals_restore(before);
}

int sync_close(struct state *state, int fd)
{
    struct stat status;
    int error = 0;
    if (raw_fstat(fd, &status) == 0) {
        const uint64_t before = signals_block();
        for_each(state, &status, close_one, &error, clock_now_ns() + close_wait_ns());
        signals_restore(before);
    }
    return error;
}

// Do what descriptors_forget does. Returns an error number if a forwarder has reported that data are lost.
static int forget(int first, int last)
{
    struct state *state = state_pointer;
    int error = 0;
    if (!state || last < 0) {
        return 0;
    }
    first = first < 0 ? 0 : first;
    for (int fd = first; fd <= last && fd < DESCRIPTORS_MAX; fd++) {
        const int64_t mark = atomic_load_explicit(&state->marks[fd], memory_order_relaxed);
        if (mark && state_get()) {
            atomic_store(&state->marks[fd], 0);
            const int failed = mark == MARK_FORWARDED ? sync_close(state, fd) : 0;
            error = failed ? failed : error;
        }
    }
    if (link_has(state, first, last) && state_get()) {
        link_give_up(state, first, last);
    }
    return error;
}

int sync_result(int direct, int forwarded)
{
    if (direct == 0 && forwarded) {
        errno = forwarded;
        return -1;
    }
    return direct;
}

int sync_forget(int fd)
{
    return forget(fd, fd);
}

void descriptors_forget(int first, int last)
{
    forget(first, last);
}
