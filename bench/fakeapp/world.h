// SPDX-License-Identifier: Apache-2.0
// The ranks of an MPI program, and operations over all ranks. A program without MPI has one rank.
#ifndef WORLD_H
#define WORLD_H

#include <stdint.h>

struct world {
    int rank;
    int ranks;
};

struct world world_begin(int *argc, char ***argv);

// Return when all ranks have called this function.
void world_meet(void);

// Return the minimum, the maximum or the sum of the ranks' values, on all ranks.
int world_least(int value);
double world_largest(double value);
uint64_t world_sum(uint64_t value);

void world_end(void);

#endif
