// SPDX-License-Identifier: Apache-2.0
// What loading zones has cost and what it has saved, both as time. As much of a zone is loaded as costs no more, with
// all before, than was saved already or will be within the time that is looked ahead, if loaded zones go on to help as
// they do. So a program that zones do not help, or that would have to load too much, loses little more than the
// advance; and one that they do help begins with short ones, which show it, and soon has whole ones. Pure.
#ifndef SRO_LEDGER_H
#define SRO_LEDGER_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "limits.h"

struct ledger {
    _Atomic int64_t begun_ns; // 0: not yet
    _Atomic int64_t spent_ns;
    _Atomic int64_t saved_ns;
    _Atomic int64_t spent_bytes;
    _Atomic int64_t planned_bytes; // asked for, and not loaded yet
    _Atomic uint32_t hits;         // of the last reads, about: those that zones have saved from waiting
    _Atomic uint32_t misses;       // and those that have waited
};

static inline int64_t ledger_allowed(struct ledger *ledger, int64_t run_ns)
{
    const uint32_t hits = atomic_load(&ledger->hits), misses = atomic_load(&ledger->misses);
    const int64_t ahead = run_ns / AHEAD_SHARE < AHEAD_NS_MIN ? AHEAD_NS_MIN : run_ns / AHEAD_SHARE;
    const int64_t saved = atomic_load(&ledger->saved_ns);
    const int64_t expected = hits ? (int64_t)((double)ahead * hits / ((double)hits + misses)) : 0;
    return ADVANCE_NS + run_ns / SHARE_OF_RUN + (saved > expected ? saved : expected);
}

// How many of so many bytes may be loaded, in whole pieces or all of them; these are planned.
static inline int64_t ledger_plan(struct ledger *ledger, int64_t bytes, int64_t piece, int64_t now_ns)
{
    int64_t begun = 0;
    atomic_compare_exchange_strong(&ledger->begun_ns, &begun, now_ns);
    const int64_t spent = atomic_load(&ledger->spent_ns), loaded = atomic_load(&ledger->spent_bytes);
    const int64_t planned = atomic_load(&ledger->planned_bytes);
    const double rate = loaded ? (double)spent / (double)loaded : FIRST_RATE;
    const int64_t allowed = ledger_allowed(ledger, begun ? now_ns - begun : 0);
    const double left_ns = (double)(allowed - spent) - rate * (double)planned;
    if (left_ns < rate * (double)bytes) {
        bytes = left_ns > 0 ? (int64_t)(left_ns / rate / (double)piece) * piece : 0;
    }
    if (!bytes && !loaded && !planned) {
        bytes = piece; // nothing else would tell what it does
    }
    atomic_fetch_add(&ledger->planned_bytes, bytes);
    return bytes;
}

// A read that has waited, or would have.
static inline void ledger_count(struct ledger *ledger, _Atomic uint32_t *which)
{
    const uint32_t count = atomic_load_explicit(which, memory_order_relaxed) + 1;
    atomic_store_explicit(which, count, memory_order_relaxed); // one that is lost does not matter
    if (count >= RECENT_READS) {
        atomic_store(&ledger->hits, atomic_load(&ledger->hits) / 2);
        atomic_store(&ledger->misses, atomic_load(&ledger->misses) / 2);
    }
}

static inline void ledger_cancel(struct ledger *ledger, int64_t bytes)
{
    atomic_fetch_sub(&ledger->planned_bytes, bytes);
}

static inline void ledger_spend(struct ledger *ledger, int64_t bytes, int64_t ns)
{
    atomic_fetch_add(&ledger->spent_ns, ns);
    atomic_fetch_add(&ledger->spent_bytes, bytes);
    ledger_cancel(ledger, bytes);
}

static inline void ledger_hit(struct ledger *ledger, int64_t miss_ns)
{
    atomic_fetch_add_explicit(&ledger->saved_ns, miss_ns, memory_order_relaxed);
    ledger_count(ledger, &ledger->hits);
}

static inline void ledger_miss(struct ledger *ledger)
{
    ledger_count(ledger, &ledger->misses);
}

// What was loaded is gone.
static inline void ledger_lose(struct ledger *ledger, int64_t ns)
{
    atomic_fetch_sub_explicit(&ledger->saved_ns, ns, memory_order_relaxed);
}

#endif
