// SPDX-License-Identifier: Apache-2.0
// Plays a mix on the real MPI: communicators, buffers, calls.
#ifndef REPRISE_PLAYER_H
#define REPRISE_PLAYER_H

#include <mpi.h>
#include <stdatomic.h>

#include "mix.h"

// What a rank did, by kind: waiting for requests counts as MIX_WAIT, computing as MIX_COMPUTE. Non-blocking collectives
// come after all others, at MIX_KINDS and their kind.
struct player_tally {
    long calls[2 * MIX_KINDS];
    double seconds[2 * MIX_KINDS];
};

struct player {
    const struct mix *mix;
    double compute; // what a gap is multiplied with; 0 for none
    MPI_Comm *comms;
    MPI_Request *requests;
    void **slot_buffers; // a receive under way writes to a place of its own
    int slots;
    char *sent;
    char *received;
    MPI_Request *waited; // of one call
    struct player_tally tally;
    double debt_s;       // of waiting, that is still to be done
    atomic_int step;     // that is under way
    atomic_long entered; // calls of MPI so far, and how many are over
    atomic_long left;
    char error[MIX_MESSAGE_BYTES];
};

// Make communicators and buffers; all ranks call it. Returns 0, or -1 with one line in `error`. `player_close` undoes
// it either way.
int player_open(struct player *p, const struct mix *mix, double compute);
void player_close(struct player *p);

// Returns 0, or -1 where a call of MPI failed (with errors that return) or could not be made.
int player_run(struct player *p);

#endif
