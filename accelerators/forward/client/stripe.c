// SPDX-License-Identifier: Apache-2.0
#include "stripe.h"

#include "clock.h"
#include "link.h"
#include "raw.h"
#include "remote.h"
#include "route.h"

static bool may_wait(struct state *state)
{
    const int64_t given_up = atomic_load(&state->given_up_ns);
    return !given_up || clock_now_ns() - given_up > BURST_GIVEN_UP_NS;
}

uint64_t stripe_of(int64_t offset)
{
    return (uint64_t)offset / BURST_STRIPE_BYTES;
}

struct link *stripe_take(struct state *state, uint32_t hash, uint64_t stripe, bool in_handler, int64_t deadline_ns)
{
    char address[ADDRESS_BYTES];
    enum link_result result = LINK_OK;
    uint32_t count = 0;
    while ((count = route_of(state, hash, stripe, address))) {
        struct link *link =
            route_take_to(state, address, in_handler, clock_now_ns() + state_settings()->read_ns, &result);
        // A forwarder that ended a connection without burst buffer may have given one to the job since then.
        if (link && (link->delays || (!atomic_load(&state->delayed) && !link_is_over(link)))) {
            atomic_store(&state->delayed, link->delays);
            atomic_store(&state->given_up_ns, 0);
            link->number = route_number(hash, stripe, count);
            return link;
        }
        if (link) { // without its burst buffer, the job would not see what it wrote
            remote_end(state, link, LINK_OK);
            state_let_go(&link->busy);
            result = LINK_ENDED;
        }
        if (in_handler && state_settings()->munge) {
            return NULL;
        }
        if (!may_wait(state) || clock_now_ns() > deadline_ns) {
            atomic_store(&state->given_up_ns, clock_now_ns());
            return NULL;
        }
        // refused: other threads have all links or descriptors
        raw_pause(result == LINK_REFUSED ? 50000 : BURST_RETRY_NS);
    }
    return NULL;
}

size_t stripe_end(int64_t start, size_t bytes, size_t done)
{
    const uint64_t left = BURST_STRIPE_BYTES - ((uint64_t)start + done) % BURST_STRIPE_BYTES;
    return left < bytes - done ? done + (size_t)left : bytes;
}
