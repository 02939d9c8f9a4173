// SPDX-License-Identifier: Apache-2.0
// Plays a mix on the real MPI: creates its communicators and buffers, and makes its calls.
#ifndef REPRISE_PLAYER_H
#define REPRISE_PLAYER_H

#include <mpi.h>
#include <stdatomic.h>

#include "mix.h"

// Number and time of a rank's calls by kind. Waiting for requests counts as MIX_WAIT, and computation as MIX_COMPUTE.
// Non-blocking collectives come after all other calls, at MIX_KINDS plus their kind.
struct player_tally {
    long calls[2 * MIX_KINDS];
    double seconds[2 * MIX_KINDS];
};

struct player {
    const struct mix *mix;
    double compute; // factor by which gaps are multiplied; 0 for no gaps
    MPI_Comm *comms;
    MPI_Request *requests;
    void **slot_buffers; // by slot, because each pending receive needs its own buffer
    int slots;
    char *sent;
    char *received;
    MPI_Request *waited; // requests of one wait
    struct player_tally tally;
    double debt_s;       // seconds of waiting that are still due
    atomic_int step;     // index of the current step
    atomic_long entered; // MPI calls begun so far; `left` counts those completed
    atomic_long left;
    char error[MIX_MESSAGE_BYTES];
};

// Create communicators and buffers. All ranks must call this function. Returns 0, or -1 with one line in `error`.
// `player_close` frees everything in both cases.
int player_open(struct player *p, const struct mix *mix, double compute);
void player_close(struct player *p);

// Make all calls of the mix. Returns 0, or -1 with one line in `error` if an MPI call returned an error.
int player_run(struct player *p);

#endif
