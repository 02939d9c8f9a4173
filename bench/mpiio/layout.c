// SPDX-License-Identifier: Apache-2.0
#include "layout.h"

#include <stdio.h>
#include <stdlib.h>

const char *const KERNEL_NAMES[KERNELS] = {"contiguous", "strided", "segmented", "s3d", "btio", "genericio"};

// Values per point of each variable in S3D's restart files. The first variable is the mass fractions of 11 species.
static const uint64_t S3D_NUMBERS[] = {11, 3, 1, 1};
// Number of unknowns of the Navier-Stokes equations per point of BT's grid.
static const uint64_t BT_NUMBERS = 5;
// Bytes of each variable of a particle in HACC: three coordinates, three components of the velocity, and the potential
// (4 bytes each), the particle's number, and a mask; 38 bytes in total.
static const uint64_t GENERICIO_BYTES[] = {4, 4, 4, 4, 4, 4, 4, 8, 2};

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

// A part of an axis, which consists of `points` points from `first` on.
struct part {
    uint64_t first;
    uint64_t points;
};

static struct part part_of(uint64_t points, uint64_t parts, uint64_t index)
{
    uint64_t first = points * index / parts;

    return (struct part){first, points * (index + 1) / parts - first};
}

static int no_memory(char *problem)
{
    snprintf(problem, PROBLEM_BYTES, "no memory for the layout: give fewer points, or a smaller block");
    return -1;
}

static int make_operations(struct layout *layout, uint64_t count, char *problem)
{
    layout->operations = calloc(count, sizeof(*layout->operations));
    layout->count = layout->operations ? count : 0;
    return layout->operations ? 0 : no_memory(problem);
}

// Allocate memory for an operation with `runs` runs of bytes. Return 0, or -1 with a message in `problem`.
static int make_runs(struct layout *layout, uint64_t operation, uint64_t runs, char *problem)
{
    layout->operations[operation].runs = calloc(runs ? runs : 1, sizeof(struct run));
    return layout->operations[operation].runs ? 0 : no_memory(problem);
}

static void add_run(struct layout *layout, uint64_t operation, uint64_t at, uint64_t bytes)
{
    struct operation *o = &layout->operations[operation];

    if (!bytes)
        return;
    o->runs[o->count++] = (struct run){at, bytes};
    o->bytes += bytes;
    layout->own_bytes += bytes;
}

// Add the runs of bytes of a box to an operation. The box is part of an array that begins at `base` and has `numbers`
// adjacent 8-byte values for each point of `grid`. Each row of the box along x is one run.
static void add_box(struct layout *layout, uint64_t operation, const uint64_t grid[AXES], const struct part box[AXES],
                    uint64_t base, uint64_t numbers)
{
    for (uint64_t z = box[Z].first; z < box[Z].first + box[Z].points; z++) {
        for (uint64_t y = box[Y].first; y < box[Y].first + box[Y].points; y++) {
            uint64_t row = ((z * grid[Y] + y) * grid[X] + box[X].first) * numbers * sizeof(double);
            add_run(layout, operation, base + row, box[X].points * numbers * sizeof(double));
        }
    }
}

// Create the operations for a file that consists of segments. Each segment has one block per rank, in the order of the
// ranks. A rank writes its blocks in pieces of `transfer` bytes.
static int make_blocks(const struct shape *shape, uint64_t segments, uint64_t block, uint64_t rank, uint64_t ranks,
                       struct layout *layout, char *problem)
{
    uint64_t transfers = block / shape->transfer;

    if (make_operations(layout, segments * transfers, problem))
        return -1;
    for (uint64_t i = 0; i < layout->count; i++) {
        uint64_t at = (i / transfers * ranks + rank) * block + i % transfers * shape->transfer;
        if (make_runs(layout, i, 1, problem))
            return -1;
        add_run(layout, i, at, shape->transfer);
    }
    layout->dump_bytes = segments * block * ranks;
    return 0;
}

// Choose the number of parts along each axis, as evenly as possible and with the most along z. This is MPI_Dims_create
// as a pure function.
static void split_evenly(uint64_t ranks, uint64_t split[AXES])
{
    uint64_t best = UINT64_MAX;

    for (uint64_t x = 1; x <= ranks; x++) {
        for (uint64_t y = x; ranks % x == 0 && x * y <= ranks; y++) {
            uint64_t z = ranks / x / y;
            if (x * y * z == ranks && z >= y && x + y + z < best) {
                best = x + y + z;
                split[X] = x;
                split[Y] = y;
                split[Z] = z;
            }
        }
    }
}

static int make_s3d(const struct shape *shape, uint64_t rank, uint64_t ranks, struct layout *layout, char *problem)
{
    const uint64_t *grid = shape->grid;
    uint64_t split[AXES] = {shape->split[X], shape->split[Y], shape->split[Z]};
    uint64_t points = grid[X] * grid[Y] * grid[Z];

    if (!split[X])
        split_evenly(ranks, split);
    if (split[X] * split[Y] * split[Z] != ranks) {
        snprintf(problem, PROBLEM_BYTES,
                 "--split %llu,%llu,%llu is not for %llu ranks: its product must be their number",
                 (unsigned long long)split[X], (unsigned long long)split[Y], (unsigned long long)split[Z],
                 (unsigned long long)ranks);
        return -1;
    }
    const struct part box[AXES] = {
        part_of(grid[X], split[X], rank % split[X]),
        part_of(grid[Y], split[Y], rank / split[X] % split[Y]),
        part_of(grid[Z], split[Z], rank / split[X] / split[Y]),
    };
    if (make_operations(layout, COUNT(S3D_NUMBERS), problem))
        return -1;
    for (uint64_t i = 0; i < layout->count; i++) {
        if (make_runs(layout, i, box[Y].points * box[Z].points * S3D_NUMBERS[i], problem))
            return -1;
        for (uint64_t number = 0; number < S3D_NUMBERS[i]; number++) { // the outermost axis of the array
            add_box(layout, i, grid, box, layout->dump_bytes, 1);
            layout->dump_bytes += points * sizeof(double);
        }
    }
    return 0;
}

// Create the single operation of BT-IO. For q * q ranks, the grid is divided into q parts along each axis. A rank has q
// cells, one in each layer along z. From layer to layer, its cell moves one part forward along x and one part back
// along y, so that sweeps along any axis keep all ranks busy.
static int make_btio(const struct shape *shape, uint64_t rank, uint64_t ranks, struct layout *layout, char *problem)
{
    const uint64_t *grid = shape->grid;
    uint64_t q = 1;

    while (q * q < ranks)
        q++;
    if (q * q != ranks) {
        snprintf(problem, PROBLEM_BYTES, "btio takes a square number of ranks, e.g. 1, 4, 9, 16, not %llu",
                 (unsigned long long)ranks);
        return -1;
    }
    if (make_operations(layout, 1, problem) || make_runs(layout, 0, q * (grid[Y] / q + 1) * (grid[Z] / q + 1), problem))
        return -1;
    for (uint64_t cell = 0; cell < q; cell++) {
        const struct part box[AXES] = {
            part_of(grid[X], q, (rank % q + cell) % q),
            part_of(grid[Y], q, (rank / q + q - cell) % q),
            part_of(grid[Z], q, cell),
        };
        add_box(layout, 0, grid, box, 0, BT_NUMBERS);
    }
    layout->dump_bytes = grid[X] * grid[Y] * grid[Z] * BT_NUMBERS * sizeof(double);
    return 0;
}

// Create the operations of GenericIO. Each rank's particles are one block of the file, with one variable after the
// other.
static int make_genericio(const struct shape *shape, uint64_t rank, uint64_t ranks, struct layout *layout,
                          char *problem)
{
    const struct part own = part_of(shape->particles, ranks, rank);
    uint64_t particle = 0;

    for (size_t i = 0; i < COUNT(GENERICIO_BYTES); i++)
        particle += GENERICIO_BYTES[i];
    if (make_operations(layout, COUNT(GENERICIO_BYTES), problem))
        return -1;
    uint64_t at = own.first * particle;
    for (uint64_t i = 0; i < layout->count; i++) {
        if (make_runs(layout, i, 1, problem))
            return -1;
        add_run(layout, i, at, own.points * GENERICIO_BYTES[i]);
        at += own.points * GENERICIO_BYTES[i];
    }
    layout->dump_bytes = shape->particles * particle;
    return 0;
}

int layout_make(const struct shape *shape, int rank, int ranks, struct layout *layout, char problem[PROBLEM_BYTES])
{
    uint64_t r = (uint64_t)rank;
    uint64_t n = (uint64_t)ranks;

    *layout = (struct layout){0};
    switch (shape->kernel) {
    case KERNEL_CONTIGUOUS:
        return make_blocks(shape, 1, shape->block, r, n, layout, problem);
    case KERNEL_STRIDED:
        return make_blocks(shape, shape->block / shape->transfer, shape->transfer, r, n, layout, problem);
    case KERNEL_SEGMENTED:
        return make_blocks(shape, shape->segments, shape->block, r, n, layout, problem);
    case KERNEL_S3D:
        return make_s3d(shape, r, n, layout, problem);
    case KERNEL_BTIO:
        return make_btio(shape, r, n, layout, problem);
    default:
        return make_genericio(shape, r, n, layout, problem);
    }
}

void layout_free(struct layout *layout)
{
    for (uint64_t i = 0; i < layout->count; i++)
        free(layout->operations[i].runs);
    free(layout->operations);
    *layout = (struct layout){0};
}
