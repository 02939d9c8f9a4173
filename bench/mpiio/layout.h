// SPDX-License-Identifier: Apache-2.0
// Where in the file a rank's bytes lie, of each kernel. Pure.
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
    uint64_t block;       // bytes of a rank's part of a segment (contiguous, strided, segmented)
    uint64_t transfer;    // of one write of it
    uint64_t segments;    // (segmented)
    uint64_t grid[AXES];  // points (s3d, btio)
    uint64_t split[AXES]; // ranks along each axis; 0, 0, 0: as even as can be (s3d)
    uint64_t particles;   // of all ranks (genericio)
};

struct run {
    uint64_t at; // from where the dump begins
    uint64_t bytes;
};

// One write, or one read: its runs in the order of the memory, in which they lie without gaps.
struct operation {
    struct run *runs;
    uint64_t count;
    uint64_t bytes;
};

struct layout {
    struct operation *operations; // as many on each rank
    uint64_t count;
    uint64_t own_bytes;  // of a dump: this rank's
    uint64_t dump_bytes; // and all ranks'
};

// What a rank writes in one dump. Returns 0; or -1, and then `problem` is a sentence, the same on all ranks but for
// missing memory.
int layout_make(const struct shape *shape, int rank, int ranks, struct layout *layout, char problem[PROBLEM_BYTES]);

void layout_free(struct layout *layout);

#endif
