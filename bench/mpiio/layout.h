// SPDX-License-Identifier: Apache-2.0
// The offsets of a rank's bytes in the file, for each kernel, computed by pure functions. A dump is everything that all
// ranks write in one step.
#ifndef LAYOUT_H
#define LAYOUT_H

#include <stdint.h>

#include "number.h"

enum kernel {
    KERNEL_CONTIGUOUS,
    KERNEL_STRIDED,
    KERNEL_SEGMENTED,
    KERNEL_S3D,
    KERNEL_BTIO,
    KERNEL_GENERICIO,
    KERNELS,
};

enum {
    X,
    Y,
    Z,
    AXES,
};

extern const char *const KERNEL_NAMES[KERNELS];

struct shape {
    enum kernel kernel;
    uint64_t block;       // size of a rank's block in a segment, in bytes (contiguous, strided, segmented)
    uint64_t transfer;    // size of one write within the block, in bytes
    uint64_t segments;    // number of segments (segmented)
    uint64_t grid[AXES];  // points along each axis (s3d, btio)
    uint64_t split[AXES]; // ranks along each axis; 0, 0, 0: as evenly as possible (s3d)
    uint64_t particles;   // number of particles of all ranks (genericio)
};

struct run {
    uint64_t at; // offset from the beginning of the dump
    uint64_t bytes;
};

// One write or read, which consists of contiguous runs of bytes in the file. In memory, the bytes of the runs follow
// each other in the same order, without gaps.
struct operation {
    struct run *runs;
    uint64_t count;
    uint64_t bytes;
};

struct layout {
    struct operation *operations; // each rank has the same number of operations
    uint64_t count;
    uint64_t own_bytes;  // bytes that this rank writes in a dump
    uint64_t dump_bytes; // bytes that all ranks write in a dump
};

// Compute a rank's writes in one dump. Return 0, or -1 with a message in `problem`. All ranks return the same value,
// unless some run out of memory.
int layout_make(const struct shape *shape, int rank, int ranks, struct layout *layout, char problem[PROBLEM_BYTES]);

void layout_free(struct layout *layout);

#endif
