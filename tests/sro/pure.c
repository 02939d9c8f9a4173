// SPDX-License-Identifier: Apache-2.0
// Wrappers of the library's pure functions, so that Python can call them through ctypes.
#include "ledger.h"
#include "pieces.h"
#include "settings.h"
#include "window.h"

#include <stdlib.h>

struct window *test_window(uint32_t length)
{
    struct window *window = calloc(1, sizeof *window);
    window_begin(window, length, malloc(window_bytes(length)));
    return window;
}

void test_window_free(struct window *window)
{
    free(window->bins);
    free(window);
}

struct piece *test_pieces(void)
{
    return calloc(PIECES_MAX, sizeof(struct piece));
}

int test_piece_state(struct piece *pieces, uint64_t number)
{
    return piece_state(pieces, number);
}

struct ledger *test_ledger(void)
{
    return calloc(1, sizeof(struct ledger));
}

int64_t test_plan(struct ledger *ledger, int64_t bytes, int64_t piece, int64_t now_ns)
{
    return ledger_plan(ledger, bytes, piece, now_ns);
}

void test_spend(struct ledger *ledger, int64_t bytes, int64_t ns)
{
    ledger_begin(ledger);
    ledger_end(ledger, bytes, ledger_share(ledger, ns));
}

int64_t test_wait(struct ledger *ledger, int64_t known_ns, int64_t seen_ns)
{
    return ledger_wait(ledger, known_ns, seen_ns);
}

void test_hit(struct ledger *ledger, int64_t miss_ns, uint32_t age)
{
    ledger_hit(ledger, miss_ns, ledger_now(ledger) - age);
}

int64_t test_share(struct ledger *ledger, int threads, int64_t ns)
{
    for (int i = 0; i < threads; i++) {
        ledger_begin(ledger);
    }
    return ledger_share(ledger, ns);
}

int test_in_vain(struct ledger *ledger)
{
    return ledger_is_in_vain(ledger);
}

void test_miss(struct ledger *ledger)
{
    ledger_miss(ledger);
}
