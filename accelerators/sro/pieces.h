// SPDX-License-Identifier: Apache-2.0
// The pieces of a file that are loaded or being loaded. A piece is forgotten when a later one takes its place; the
// forgotten piece may then be loaded again, which costs little if the kernel's page cache still has it. The functions
// have no side effects other than changing the pieces.
#ifndef SRO_PIECES_H
#define SRO_PIECES_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "limits.h"

struct piece {
    _Atomic uint64_t tag;   // 0 if empty; else 2 * (the piece's index in the file + 1), plus 1 if loaded
    _Atomic uint32_t since; // the time when it was loaded, in the unit of pieces_loaded
    _Atomic uint64_t touched[PARTS_MAX / 64]; // a bit for each part that was read since `since`
};

enum piece_state {
    PIECE_ABSENT,
    PIECE_LOADING,
    PIECE_LOADED,
};

static inline struct piece *piece_place(struct piece *pieces, uint64_t number)
{
    return &pieces[number % PIECES_MAX];
}

static inline enum piece_state piece_state(struct piece *pieces, uint64_t number)
{
    uint64_t tag = atomic_load_explicit(&piece_place(pieces, number)->tag, memory_order_relaxed);
    if (tag >> 1 != number + 1) {
        return PIECE_ABSENT;
    }
    return tag & 1 ? PIECE_LOADED : PIECE_LOADING;
}

static inline void piece_forget(struct piece *pieces, uint64_t number)
{
    atomic_store_explicit(&piece_place(pieces, number)->tag, 0, memory_order_relaxed);
}

// Mark a part of a loaded piece as read. Returns true if this is the part's first read since the piece was loaded.
bool piece_touch(struct piece *pieces, uint64_t number, unsigned part);

// Mark the pieces from `*first` up to, but not including, `*last` as being loaded. Pieces at either end that are
// already loaded or being loaded are first removed from the range. Returns false if the range is then empty.
bool pieces_claim(struct piece *pieces, uint64_t *first, uint64_t *last);

static inline uint32_t piece_since(struct piece *pieces, uint64_t number)
{
    return atomic_load_explicit(&piece_place(pieces, number)->since, memory_order_relaxed);
}

// End the loading of the pieces from `first` up to, but not including, `last`. pieces_loaded marks them as loaded at
// the time `now`, in any unit that the caller chooses; pieces_give_up marks them as absent. Pieces that are not being
// loaded stay unchanged.
void pieces_loaded(struct piece *pieces, uint64_t first, uint64_t last, uint32_t now);
void pieces_give_up(struct piece *pieces, uint64_t first, uint64_t last);

#endif
