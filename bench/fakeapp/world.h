// SPDX-License-Identifier: Apache-2.0
// The ranks of an MPI program; without MPI there is one.
#ifndef WORLD_H
#define WORLD_H

#include <stdint.h>

struct world {
    int rank;
    int ranks;
};

struct world world_begin(int *argc, char ***argv);

// Return once all ranks are here.
void world_meet(void);

// The least value over all ranks, returned to all of them.
int world_least(int value);
double world_largest(double value);
uint64_t world_sum(uint64_t value);

void world_end(void);

#endif
