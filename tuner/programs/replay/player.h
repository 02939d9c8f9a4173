// SPDX-License-Identifier: Apache-2.0
// Replays a mix with MPI: creates its communicators and buffers, and makes its calls.
#ifndef REPRISE_PLAYER_H
#define REPRISE_PLAYER_H

#include <mpi.h>
#include <stdatomic.h>

#include "mix.h"

// Number and total time of a rank's calls, indexed by kind. Waiting for requests counts as MIX_WAIT, and computation as
// MIX_COMPUTE. The index of a non-blocking collective is MIX_KINDS plus its kind.
struct player_tally {
    long calls[2 * MIX_KINDS];
    double seconds[2 * MIX_KINDS];
};

struct player {
    const struct mix *mix;
    double compute; // factor by which gaps are multiplied; 0 for no gaps
    MPI_Comm *comms;
    MPI_Request *requests;
    void **slot_buffers; // indexed by slot, because each pending receive needs its own buffer
    int slots;
    char *sent;
    char *received;
    MPI_Request *waited; // copies of the requests of one wait
    struct player_tally tally;
    double debt_s;       // seconds of waiting still due; negative after a wait that took too long
    atomic_int step;     // index of the current step
    atomic_long entered; // number of MPI calls begun so far; `left` is the number completed
    atomic_long left;
    char error[MIX_MESSAGE_BYTES];
};

// Create communicators and buffers. All ranks must call this function. Returns 0, or -1 with a one-line message in
// `error`. `player_close` frees everything in both cases.
int player_open(struct player *p, const struct mix *mix, double compute);
void player_close(struct player *p);

// Make all calls of the mix. Returns 0, or -1 with a one-line message in `error` if an MPI call returned an error.
int player_run(struct player *p);

#endif
