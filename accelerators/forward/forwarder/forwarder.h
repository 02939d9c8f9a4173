// SPDX-License-Identifier: Apache-2.0
// The state that all connections share.
#ifndef FORWARDER_FORWARDER_H
#define FORWARDER_FORWARDER_H

#include <event2/event.h>

#include "metrics.h"
#include "scheduler.h"
#include "settings.h"

struct cache;
struct session;

struct forwarder {
    struct event_base *base;
    struct settings settings;
    struct layout layout;
    struct scheduler scheduler;
    struct metrics metrics;
    struct session *sessions; // all connections of clients
    struct cache *cache;      // NULL if write-back is off
};

#endif
