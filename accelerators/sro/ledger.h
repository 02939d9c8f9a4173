// SPDX-License-Identifier: Apache-2.0
// Accounts for the time that loading zones costs and saves. Zones are loaded only while the total cost does not exceed
// an advance plus the larger of two times: the time saved so far, and the time expected to be saved within the
// look-ahead if loaded zones continue to help at the present rate. A program that zones do not help, or that would have
// to load too much, therefore loses little more than the advance. A program that zones do help begins with short zones,
// which show that they help, and soon loads whole zones. The time that a zone saves right after it was loaded does not
// predict later savings, because a program may move from place to place and leave each place before its zone has paid
// off. The functions have no side effects other than changing the ledger.
#ifndef SRO_LEDGER_H
#define SRO_LEDGER_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "limits.h"

struct ledger {
    _Atomic int64_t begun_ns; // time at which the first zone was planned, or 0
    _Atomic int64_t spent_ns;
    _Atomic int64_t saved_ns;
    _Atomic int64_t spent_bytes;
    _Atomic int64_t planned_bytes; // requested but not loaded yet
    _Atomic uint32_t loading;      // number of threads that are loading now
    _Atomic uint32_t reads;        // number of reads that waited, or would have waited without loaded zones
    _Atomic uint32_t lasting;      // approximate number of recent reads that older zones saved from waiting
    _Atomic uint32_t others;       // approximate number of other recent reads
};

static inline int64_t ledger_allowed(struct ledger *ledger, int64_t run_ns)
{
    const uint32_t lasting = atomic_load(&ledger->lasting), others = atomic_load(&ledger->others);
    const int64_t ahead = run_ns / AHEAD_SHARE < AHEAD_NS_MIN ? AHEAD_NS_MIN : run_ns / AHEAD_SHARE;
    const int64_t saved = atomic_load(&ledger->saved_ns);
    const int64_t expected = lasting ? (int64_t)((double)ahead * lasting / ((double)lasting + others)) : 0;
    return ADVANCE_NS + run_ns / SHARE_OF_RUN + (saved > expected ? saved : expected);
}

// Return how many of `bytes` bytes may be loaded (all of them, or whole pieces), and add that number to
// `planned_bytes`.
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
        bytes = piece; // try one piece: the only way to find out whether loading helps
    }
    atomic_fetch_add(&ledger->planned_bytes, bytes);
    return bytes;
}

// Return the number of reads counted so far; ledger_hit needs its value at the time when a piece was loaded.
static inline uint32_t ledger_now(struct ledger *ledger)
{
    return atomic_load_explicit(&ledger->reads, memory_order_relaxed);
}

// Count a read that waited, or would have waited without loaded zones, in `reads` and in the counter `which`, which is
// `lasting` or `others`. If two threads count at the same time, one count may be lost, which does no harm.
static inline void ledger_count(struct ledger *ledger, _Atomic uint32_t *which)
{
    const uint32_t count = atomic_load_explicit(which, memory_order_relaxed) + 1;
    atomic_store_explicit(&ledger->reads, ledger_now(ledger) + 1, memory_order_relaxed);
    atomic_store_explicit(which, count, memory_order_relaxed);
    if (count >= RECENT_READS) {
        atomic_store(&ledger->lasting, atomic_load(&ledger->lasting) / 2);
        atomic_store(&ledger->others, atomic_load(&ledger->others) / 2);
    }
}

// Return whether zones are useless: loading was tried, but hardly any recent read has a saving that is expected to
// recur (LASTING_READS).
static inline bool ledger_is_in_vain(struct ledger *ledger)
{
    const uint32_t lasting = atomic_load_explicit(&ledger->lasting, memory_order_relaxed);
    const uint32_t others = atomic_load_explicit(&ledger->others, memory_order_relaxed);
    return ledger_now(ledger) >= VAIN_READS && lasting < (lasting + others) / VAIN_SHARE &&
           atomic_load_explicit(&ledger->begun_ns, memory_order_relaxed);
}

static inline void ledger_cancel(struct ledger *ledger, int64_t bytes)
{
    atomic_fetch_sub(&ledger->planned_bytes, bytes);
}

// Record that a thread begins to load planned bytes.
static inline void ledger_begin(struct ledger *ledger)
{
    atomic_fetch_add(&ledger->loading, 1);
}

// Return the cost of `ns` nanoseconds of a thread's loading. Threads that load at the same time share the cost, because
// the program loses this time only once.
static inline int64_t ledger_share(struct ledger *ledger, int64_t ns)
{
    const uint32_t loading = atomic_load(&ledger->loading);
    return loading > 1 ? ns / loading : ns;
}

static inline void ledger_end(struct ledger *ledger, int64_t bytes, int64_t ns)
{
    atomic_fetch_sub(&ledger->loading, 1);
    atomic_fetch_add(&ledger->spent_ns, ns);
    atomic_fetch_add(&ledger->spent_bytes, bytes);
    ledger_cancel(ledger, bytes);
}

// Return an estimate of how long a read waits without loaded zones, updated with a read that waited `seen_ns`.
// `known_ns` is the previous estimate, or 0. Shorter waits have more weight, because reads wait longer while zones are
// loaded, by this process or another one.
static inline int64_t ledger_wait(struct ledger *ledger, int64_t known_ns, int64_t seen_ns)
{
    const int64_t seen = seen_ns < MISS_NS_MAX ? seen_ns : MISS_NS_MAX;
    if (!known_ns) {
        return seen;
    }
    if (seen < known_ns) {
        return known_ns - (known_ns - seen) / MISS_FASTER;
    }
    if (atomic_load(&ledger->planned_bytes)) {
        return known_ns;
    }
    const int64_t more = seen - known_ns;
    return known_ns + (more < known_ns ? more : known_ns) / MISS_SLOWER;
}

// Count a read from a loaded piece, which saved `miss_ns`. `since` is the value of ledger_now when the piece was
// loaded.
static inline void ledger_hit(struct ledger *ledger, int64_t miss_ns, uint32_t since)
{
    atomic_fetch_add_explicit(&ledger->saved_ns, miss_ns, memory_order_relaxed);
    ledger_count(ledger, ledger_now(ledger) - since >= LASTING_READS ? &ledger->lasting : &ledger->others);
}

static inline void ledger_miss(struct ledger *ledger)
{
    ledger_count(ledger, &ledger->others);
}

// Subtract savings that were counted for a piece by mistake, because it had been evicted.
static inline void ledger_lose(struct ledger *ledger, int64_t ns)
{
    atomic_fetch_sub_explicit(&ledger->saved_ns, ns, memory_order_relaxed);
}

#endif
