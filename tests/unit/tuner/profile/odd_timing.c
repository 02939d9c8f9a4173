// SPDX-License-Identifier: Apache-2.0
// Simulates many short calls. The witness times only some of these calls. Every 32nd call is long, as in reads of a
// file with read-ahead. For each position of the long call, prints the time that the witness estimates, in thousandths
// of the real time, and its estimate of the bytes, at one byte per call.
#include <stdio.h>
#include <string.h>

#include "../../../../tuner/programs/witness/state.h"

enum { CALLS = 200000, DISTANCE = 32, SHORT = 100, LONG = 40000 };

static struct state state;
struct state *witness = &state;

int main(void)
{
    struct io_cell *cell = &state.blocks[0].meta[0];

    state.clock_cost = 20;
    for (int first = 0; first < DISTANCE; first++) {
        uint64_t took = 0;
        memset(cell, 0, sizeof(*cell));
        cell->random = 1000003U * (unsigned)(first + 1);
        for (int i = 0; i < CALLS; i++) {
            const uint64_t ticks = i % DISTANCE == first ? LONG : SHORT;
            took += ticks;
            if (!cell_skips(cell))
                cell_timed(cell, 1, ticks);
        }
        printf("%d %d\n", (int)(cell->ticks * 1000 / took), (int)cell->bytes);
    }
    return 0;
}
