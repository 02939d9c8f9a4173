// SPDX-License-Identifier: Apache-2.0
#include "route.h"

#include "clock.h"
#include "map.h"
#include "map_file.h"
#include "raw.h"
#include "remote.h"

static struct avoided *find_avoided(struct route *route, const char *address)
{
    for (int i = 0; i < AVOIDED_MAX; i++) {
        if (strcmp(route->avoided[i].address, address) == 0) {
            return &route->avoided[i];
        }
    }
    return NULL;
}

static bool is_avoided(struct route *route, const char *address)
{
    const struct avoided *avoided = find_avoided(route, address);
    return avoided && clock_now_ns() < avoided->until_ns;
}

bool route_avoids(struct state *state, const char *address)
{
    struct route *route = &state->route;
    const bool held = state_try(&route->busy);
    const bool avoids = held && is_avoided(route, address);
    if (held) {
        state_let_go(&route->busy);
    }
    return avoids;
}

// Copy the address of this process's forwarder. Returns false if there is none now.
static bool choose(struct route *route, char address[ADDRESS_BYTES])
{
    if (!state_try(&route->busy)) {
        return false;
    }
    map_file_look(route, state_settings());
    const bool usable = route->address[0] && !is_avoided(route, route->address);
    memcpy(address, route->address, ADDRESS_BYTES);
    state_let_go(&route->busy);
    return usable;
}

uint32_t route_number(uint32_t hash, uint64_t stripe, uint32_t count)
{
    const uint32_t turns = count < BURST_SPREAD ? count : BURST_SPREAD;
    return (uint32_t)((hash % count + stripe % turns) % count);
}

uint32_t route_of(struct state *state, uint32_t hash, uint64_t stripe, char address[ADDRESS_BYTES])
{
    struct route *route = &state->route;
    while (!state_try(&route->busy)) { // it is held for microseconds, except while the map is read
        raw_pause(20000);
    }
    map_file_look(route, state_settings());
    const size_t bytes = route->text_bytes > 0 ? (size_t)route->text_bytes : 0;
    int count = bytes ? map_choose(route->text, bytes, hash, address) : 0;
    if (count > 1 && stripe) {
        count = map_choose(route->text, bytes, route_number(hash, stripe, (uint32_t)count), address);
    }
    state_let_go(&route->busy);
    return count > 0 ? (uint32_t)count : 0;
}

// Remember whether a forwarder works.
static void note(struct route *route, const char *address, bool works)
{
    if (!state_try(&route->busy)) {
        return;
    }
    struct avoided *avoided = find_avoided(route, address);
    if (works) {
        if (avoided) {
            *avoided = (struct avoided){.address = ""};
        }
        state_let_go(&route->busy);
        return;
    }
    for (int i = 0; !avoided && i < AVOIDED_MAX; i++) {
        struct avoided *one = &route->avoided[i];
        if (!one->address[0] || i == AVOIDED_MAX - 1 || clock_now_ns() > one->until_ns + AVOID_NS_MAX) {
            avoided = one;
            *avoided = (struct avoided){.address = ""};
            memcpy(avoided->address, address, strlen(address) + 1);
        }
    }
    avoided->pause_ns = avoided->pause_ns ? 2 * avoided->pause_ns : AVOID_NS;
    avoided->pause_ns = avoided->pause_ns < AVOID_NS_MAX ? avoided->pause_ns : AVOID_NS_MAX;
    avoided->until_ns = clock_now_ns() + avoided->pause_ns;
    state_let_go(&route->busy);
}

// Take a link that is connected to a forwarder. Ends connections that have become useless on the way.
static struct link *take_connected(struct state *state, const char *address)
{
    for (int i = 0; i < LINKS_MAX; i++) {
        struct link *link = &state->links[i];
        if (!state_try(&link->busy)) {
            continue;
        }
        if (link->address[0] && (!link_is_whole(link) || !link->in_order)) {
            remote_end(state, link, LINK_OK);
        }
        if (strcmp(link->address, address) == 0) {
            return link;
        }
        state_let_go(&link->busy);
    }
    return NULL;
}

static bool is_dirty(const struct link *link)
{
    for (int i = 0; i < REMOTE_FILES_MAX; i++) {
        if (link->files[i].fid && link->files[i].dirty) {
            return true;
        }
    }
    return false;
}

// Take a link without a connection. If there is none, a connection to another forwarder is ended, best one without
// dirty files, because an fsync of these files may still need it.
static struct link *take_free(struct state *state, const char *address)
{
    for (int choice = 0; choice < 3; choice++) {
        for (int i = 0; i < LINKS_MAX; i++) {
            struct link *link = &state->links[i];
            if (!state_try(&link->busy)) {
                continue;
            }
            const bool other = strcmp(link->address, address) != 0;
            if (!link->address[0] || (choice == 1 && other && !is_dirty(link)) || (choice == 2 && other)) {
                if (link->address[0]) {
                    remote_end(state, link, LINK_OK);
                }
                return link;
            }
            state_let_go(&link->busy);
        }
    }
    return NULL;
}

struct link *route_take_to(struct state *state, const char *address, bool in_handler, int64_t deadline_ns,
                           enum link_result *result)
{
    struct link *link = take_connected(state, address);
    *result = LINK_OK;
    if (link) {
        link->in_handler = in_handler;
        return link;
    }
    *result = LINK_REFUSED;
    if ((state_settings()->munge && in_handler) || !(link = take_free(state, address))) {
        return NULL;
    }
    memcpy(link->address, address, ADDRESS_BYTES);
    link->in_handler = in_handler;
    *result = session_start(link, deadline_ns);
    if (*result == LINK_OK) {
        state_count(&state->counters.connections, 1);
        return link;
    }
    if (*result == LINK_REFUSED) {
        remote_end(state, link, LINK_REFUSED);
        state_let_go(&link->busy);
    } else {
        route_let_go(state, link, *result);
    }
    return NULL;
}

struct link *route_take(struct state *state, bool in_handler)
{
    char address[ADDRESS_BYTES];
    enum link_result ignored;
    if (!choose(&state->route, address)) {
        return NULL;
    }
    return route_take_to(state, address, in_handler, clock_now_ns() + state_settings()->read_ns, &ignored);
}

void route_let_go(struct state *state, struct link *link, enum link_result result)
{
    if (result == LINK_ENDED || result == LINK_LOST) {
        state_count(&state->counters.failures, 1);
        note(&state->route, link->address, false);
        remote_end(state, link, result);
    } else if (result == LINK_OK && !link->proven) {
        link->proven = true;
        note(&state->route, link->address, true);
    }
    state_let_go(&link->busy);
}
