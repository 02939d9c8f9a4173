// SPDX-License-Identifier: Apache-2.0
// Play a mix on the real MPI: communicators, buffers, calls.
#ifndef REPRISE_PLAYER_H
#define REPRISE_PLAYER_H

#include <mpi.h>
#include <stdatomic.h>

#include "mix.h"

// Calls of a rank by kind: waiting for requests counts as MIX_WAIT, computation as MIX_COMPUTE. Non-blocking
// collectives come after all others, at MIX_KINDS plus their kind.
struct player_tally {
    long calls[2 * MIX_KINDS];
    double seconds[2 * MIX_KINDS];
};

struct player {
    const struct mix *mix;
    double compute; // factor of the gaps; 0 for none
    MPI_Comm *comms;
    MPI_Request *requests;
    void **slot_buffers; // a pending receive has a separate buffer
    int slots;
    char *sent;
    char *received;
    MPI_Request *waited; // requests of one call
    struct player_tally tally;
    double debt_s;       // waiting that is still due
    atomic_int step;     // current step
    atomic_long entered; // MPI calls begun so far, and those completed
    atomic_long left;
    char error[MIX_MESSAGE_BYTES];
};

// Create communicators and buffers; all ranks call it. Returns 0, or -1 with one line in `error`. `player_close` undoes
// it in either case.
int player_open(struct player *p, const struct mix *mix, double compute);
void player_close(struct player *p);

// Returns 0, or -1 if an MPI call failed (with errors that return) or could not be made.
int player_run(struct player *p);

#endif
