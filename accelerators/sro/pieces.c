// SPDX-License-Identifier: Apache-2.0
#include "pieces.h"

bool piece_touch(struct piece *pieces, uint64_t number, unsigned part)
{
    struct piece *piece = piece_place(pieces, number);
    _Atomic uint64_t *word = &piece->touched[part / 64 % (PARTS_MAX / 64)];
    const uint64_t touched = atomic_load_explicit(word, memory_order_relaxed);
    const uint64_t bit = 1ULL << part % 64;
    atomic_store_explicit(word, touched | bit, memory_order_relaxed);
    return !(touched & bit);
}

bool pieces_claim(struct piece *pieces, uint64_t *first, uint64_t *last)
{
    while (*first < *last && piece_state(pieces, *first) != PIECE_ABSENT) {
        ++*first;
    }
    while (*first < *last && piece_state(pieces, *last - 1) != PIECE_ABSENT) {
        --*last;
    }
    for (uint64_t number = *first; number < *last; number++) {
        if (piece_state(pieces, number) == PIECE_ABSENT) {
            struct piece *piece = piece_place(pieces, number);
            for (int i = 0; i < PARTS_MAX / 64; i++) {
                atomic_store_explicit(&piece->touched[i], 0, memory_order_relaxed);
            }
            atomic_store_explicit(&piece->tag, (number + 1) << 1, memory_order_relaxed);
        }
    }
    return *first < *last;
}

// Change the state of a piece from "being loaded" to loaded or absent, unless another piece has taken its place.
static void settle(struct piece *piece, uint64_t number, bool loaded)
{
    uint64_t loading = (number + 1) << 1;
    atomic_compare_exchange_strong_explicit(&piece->tag, &loading, loaded ? loading | 1 : 0, memory_order_relaxed,
                                            memory_order_relaxed);
}

void pieces_loaded(struct piece *pieces, uint64_t first, uint64_t last, uint32_t now)
{
    for (uint64_t number = first; number < last; number++) {
        atomic_store_explicit(&piece_place(pieces, number)->since, now, memory_order_relaxed);
        settle(piece_place(pieces, number), number, true);
    }
}

void pieces_give_up(struct piece *pieces, uint64_t first, uint64_t last)
{
    for (uint64_t number = first; number < last; number++) {
        settle(piece_place(pieces, number), number, false);
    }
}
