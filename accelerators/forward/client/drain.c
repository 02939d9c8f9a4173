// SPDX-License-Identifier: Apache-2.0
#include "drain.h"

#include "burst.h"
#include "clock.h"
#include "raw.h"
#include "remote.h"
#include "route.h"
#include "session.h"
#include "signals.h"
#include "stripe.h"

struct request_to_drain {
    struct link *link; // held by this thread; NULL if there is nothing to wait for, or nobody to ask
    enum link_result sent;
};

// Ask one burst buffer to drain.
static struct request_to_drain ask(struct state *state, uint32_t number, bool in_handler, int64_t deadline_ns)
{
    struct link *link = stripe_take(state, number, 0, in_handler, clock_now_ns() + state_settings()->write_ns);
    if (link && !link->delays) {
        route_let_go(state, link, LINK_REFUSED);
        link = NULL;
    }
    return (struct request_to_drain){link, link ? session_begin_drain(link, deadline_ns) : LINK_REFUSED};
}

// Wait until a burst buffer has drained, or its successor if it is killed.
static void await(struct state *state, uint32_t number, struct request_to_drain request, bool in_handler,
                  int64_t deadline_ns)
{
    while (request.link) {
        const enum link_result result =
            request.sent == LINK_OK ? session_end_drain(request.link, deadline_ns) : request.sent;
        if (result == LINK_OK) { // the session has no fids any more
            remote_end(state, request.link, LINK_OK);
            state_let_go(&request.link->busy);
        } else {
            route_let_go(state, request.link, result);
        }
        if ((result != LINK_ENDED && result != LINK_LOST) || clock_now_ns() > deadline_ns) {
            return;
        }
        raw_pause(BURST_RETRY_NS);
        request = ask(state, number, in_handler, deadline_ns);
    }
}

// Only one thread at a time drains several burst buffers at once, because it holds a connection while it takes the
// next.
static void drain_all(struct state *state, bool all, bool in_handler)
{
    char address[ADDRESS_BYTES];
    struct request_to_drain requests[BURST_SPREAD];
    bool owing = all;
    for (int i = 0; i < OWING_MAX; i++) {
        owing |= atomic_load(&state->owing[i]) != 0;
    }
    const uint32_t count = burst_is_on() && owing ? route_of(state, 0, 0, address) : 0;
    const bool alone = state_try(&state->draining);
    const uint32_t most = alone ? BURST_SPREAD : 1;
    for (uint32_t first = 0; first < count; first += most) {
        const int64_t deadline = clock_now_ns() + FSYNC_WAIT_NS;
        const uint32_t end = count - first < most ? count : first + most;
        for (uint32_t i = first; i < end; i++) {
            const bool owes = all || atomic_load(&state->owing[i % OWING_MAX]);
            requests[i - first] =
                owes ? ask(state, i, in_handler, deadline) : (struct request_to_drain){NULL, LINK_REFUSED};
        }
        for (uint32_t i = first; i < end; i++) {
            await(state, i, requests[i - first], in_handler, deadline);
        }
    }
    if (alone) {
        state_let_go(&state->draining);
    }
}

void drain(struct state *state, bool all)
{
    const uint64_t before = signals_block();
    drain_all(state, all, before & ~state_usual_signals);
    signals_restore(before);
}

void drain_before_exec(void)
{
    struct state *state = state_get();
    if (state) {
        drain(state, false);
    }
}
