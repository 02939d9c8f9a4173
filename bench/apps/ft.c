// SPDX-License-Identifier: Apache-2.0
// ft: a diffusion equation in three dimensions, evolved by Fourier transforms, similar to NAS FT.
//
// The initial field is transformed once. Each iteration reduces the coefficients a little, transforms them back into a
// field, and sums 1024 points of the field. The field is divided into slabs along z, and the coefficients are divided
// along y, so that a three-dimensional transform contains one transposition (MPI_Alltoall). The sum is an MPI_Allreduce
// of 16 bytes.
//
// Differences from NAS FT: all three dimensions have the same number of points, and the transforms are simple radix-2.
// NAS FT begins with a random field and compares its checksums with constants. Here the field begins as the product of
// random functions of x, y and z that are practically never 0, neither in the field nor among the coefficients. The
// field remains such a product at all times, and each rank can evaluate the functions by itself. Every checksum, and at
// the end the whole field, is compared with values computed from these functions. NAS FT sums with MPI_Reduce, and
// divides two dimensions if there are more ranks than slabs.
#include <complex.h>
#include <math.h>
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

#include "application.h"
#include "draw.h"

enum { POINTS = 1024 }; // number of points of the field that are summed in a checksum

static const double PI = 3.14159265358979323846;
// Decay over the whole run. A coefficient of the highest frequency ends at exp(-DECAY) times its first value, which is
// still large enough to be compared.
static const double DECAY = 2;
// Largest allowed error. The error of the field is relative to its largest value, and the error of a checksum is
// relative to the mean magnitude of its points.
static const double ERROR_MAX = 1e-11;

// A rank's part of a cube with n points along each side. The rank's slab of the field, [z][y][x], has `depth` planes,
// beginning with z = `first`. Its part of the coefficients, [y][x][z], also has `depth` planes, beginning with y =
// `first`. Both consist of `count` points. The comment on each array begins with its number of elements.
struct cube {
    long n;
    long iterations;
    long depth;
    long first;
    long count;
    int block;                   // number of elements that a rank sends to each other rank in a transposition
    long *reversed;              // n: each index with its bits in reverse order
    double complex *root;        // n: exp(2 pi i j / n)
    double complex *line;        // n
    double complex *field;       // count; also used for coefficients during a transposition
    double complex *out;         // count
    double complex *in;          // count
    double complex *evolved;     // count: current coefficients
    double *decay;               // count: factor by which an iteration multiplies each coefficient
    double complex *coefficient; // 3 n: initial coefficients of the functions of x, y and z
    double complex *factor;      // 3 n: values of the functions after the iterations of the last call of known_after()
};

static void free_cube(struct cube *c)
{
    free(c->reversed);
    free(c->root);
    free(c->line);
    free(c->field);
    free(c->out);
    free(c->in);
    free(c->evolved);
    free(c->decay);
    free(c->coefficient);
    free(c->factor);
}

// Return the factor (0 to 1) by which `iteration` iterations multiply coefficient k of one dimension. If k is n / 2 or
// more, it represents the negative frequency k - n.
static double decayed(const struct cube *c, long k, long iteration)
{
    double frequency = (double)(k < c->n / 2 ? k : k - c->n) / (double)(c->n / 2);

    return exp(-DECAY / 3 * frequency * frequency * (double)iteration / (double)c->iterations);
}

static void fill_tables(struct cube *c)
{
    for (long j = 0; j < c->n; j++) {
        c->root[j] = cexp(2 * PI * I * (double)j / (double)c->n);
        c->reversed[j] = j ? c->reversed[j / 2] / 2 + (j % 2) * (c->n / 2) : 0;
    }
    for (long i = 0; i < c->count; i++)
        c->decay[i] =
            decayed(c, i / c->n % c->n, 1) * decayed(c, c->first + i / (c->n * c->n), 1) * decayed(c, i % c->n, 1);
}

static void draw_coefficients(struct cube *c, unsigned long seed)
{
    for (long i = 0; i < 3 * c->n; i++)
        c->coefficient[i] =
            (draw_signed(seed, 0, (uint64_t)i) + I * draw_signed(seed, 1, (uint64_t)i)) / sqrt((double)c->n);
}

static int build(struct cube *c, const struct options *o, int rank, int ranks)
{
    size_t n = (size_t)o->size;
    size_t count = n * n * n / (size_t)ranks;

    c->n = o->size;
    c->iterations = o->iterations;
    c->depth = c->n / ranks;
    c->first = c->depth * rank;
    c->count = (long)count;
    c->block = (int)(c->depth * c->depth * c->n);
    c->reversed = calloc(n, sizeof *c->reversed);
    c->root = calloc(n, sizeof *c->root);
    c->line = calloc(n, sizeof *c->line);
    c->field = calloc(count, sizeof *c->field);
    c->out = calloc(count, sizeof *c->out);
    c->in = calloc(count, sizeof *c->in);
    c->evolved = calloc(count, sizeof *c->evolved);
    c->decay = calloc(count, sizeof *c->decay);
    c->coefficient = calloc(3 * n, sizeof *c->coefficient);
    c->factor = calloc(3 * n, sizeof *c->factor);
    if (!c->reversed || !c->root || !c->line || !c->field || !c->out || !c->in || !c->evolved || !c->decay ||
        !c->coefficient || !c->factor)
        return -1;
    fill_tables(c);
    draw_coefficients(c, o->seed);
    return 0;
}

// Transform n elements that lie `stride` apart, in place. Direction -1 is the forward transform; 1 is the inverse,
// without the division by n.
static void transform_line(struct cube *c, double complex *first, long stride, int direction)
{
    for (long j = 0; j < c->n; j++)
        c->line[c->reversed[j]] = first[j * stride];
    for (long half = 1; half < c->n; half *= 2) {
        for (long j = 0; j < half; j++) {
            double complex root = c->root[j * (c->n / (2 * half))];
            double complex w = direction < 0 ? conj(root) : root;
            for (long at = j; at < c->n; at += 2 * half) {
                double complex odd = w * c->line[at + half];
                c->line[at + half] = c->line[at] - odd;
                c->line[at] += odd;
            }
        }
    }
    for (long j = 0; j < c->n; j++)
        first[j * stride] = c->line[j];
}

// Transform the rank's slab of the field along x and y.
static void transform_slab(struct cube *c, int direction)
{
    for (long z = 0; z < c->depth; z++) {
        double complex *plane = c->field + z * c->n * c->n;
        for (long y = 0; y < c->n; y++)
            transform_line(c, plane + y * c->n, 1, direction);
        for (long x = 0; x < c->n; x++)
            transform_line(c, plane + x, c->n, direction);
    }
}

// Transform the rank's part of the coefficients along z.
static void transform_depth(struct cube *c, int direction)
{
    for (long at = 0; at < c->count; at += c->n)
        transform_line(c, c->field + at, 1, direction);
}

// Copy between the rank's slab of the field, [z][y][x], and `blocks`, the send and receive buffer of the transposition.
// The buffer has one block for each slab of the cube. The elements of a block are in the order [y][x][z].
static void copy_slab(struct cube *c, double complex *blocks, int to_blocks)
{
    for (long y = 0; y < c->n; y++) { // y / depth is the number of the slab, so the blocks are in the order of y
        for (long x = 0; x < c->n; x++) {
            for (long z = 0; z < c->depth; z++) {
                double complex *here = c->field + (z * c->n + y) * c->n + x;
                if (to_blocks)
                    *blocks++ = *here;
                else
                    *here = *blocks++;
            }
        }
    }
}

// Copy between the rank's coefficients, [y][x][z], and the blocks of the transposition, which are described at
// copy_slab().
static void copy_coefficients(struct cube *c, double complex *blocks, int to_blocks)
{
    for (long slab = 0; slab < c->n; slab += c->depth) {
        for (long line = 0; line < c->depth * c->n; line++) {
            for (long z = slab; z < slab + c->depth; z++) {
                double complex *here = c->field + line * c->n + z;
                if (to_blocks)
                    *blocks++ = *here;
                else
                    *here = *blocks++;
            }
        }
    }
}

static void exchange(struct cube *c)
{
    MPI_Alltoall(c->out, c->block, MPI_C_DOUBLE_COMPLEX, c->in, c->block, MPI_C_DOUBLE_COMPLEX, MPI_COMM_WORLD);
}

static void forward(struct cube *c)
{
    transform_slab(c, -1);
    copy_slab(c, c->out, 1);
    exchange(c);
    copy_coefficients(c, c->in, 0);
    transform_depth(c, -1);
}

static void back(struct cube *c)
{
    transform_depth(c, 1);
    copy_coefficients(c, c->out, 1);
    exchange(c);
    copy_slab(c, c->in, 0);
    transform_slab(c, 1);
}

// Evaluate three functions, one of x, one of y and one of z. Their product is the field after this number of
// iterations. Sum the Fourier series of each function term by term, without a fast transform, and write the function's
// values to `factor`.
static void known_after(struct cube *c, long iteration)
{
    for (long i = 0; i < 3 * c->n; i++)
        c->factor[i] = 0;
    for (long k = 0; k < c->n; k++) {
        double left = decayed(c, k, iteration);
        for (long i = 0; i < 3 * c->n; i++)
            c->factor[i] += left * c->coefficient[i / c->n * c->n + k] * c->root[k * (i % c->n) % c->n];
    }
}

// Return the expected value of the field at a point.
static double complex known(const struct cube *c, long x, long y, long z)
{
    return c->factor[x] * c->factor[c->n + y] * c->factor[2 * c->n + z];
}

// Return the expected value of the field at index `i` of the rank's slab.
static double complex known_here(const struct cube *c, long i)
{
    return known(c, i % c->n, i / c->n % c->n, c->first + i / (c->n * c->n));
}

static void begin(struct cube *c)
{
    known_after(c, 0);
    for (long i = 0; i < c->count; i++)
        c->field[i] = known_here(c, i);
    forward(c);
    // Divide by the number of points of the cube here, because back() does not.
    for (long i = 0; i < c->count; i++)
        c->evolved[i] = c->field[i] / pow((double)c->n, 3);
}

static void evolve(struct cube *c)
{
    for (long i = 0; i < c->count; i++) {
        c->evolved[i] *= c->decay[i];
        c->field[i] = c->evolved[i];
    }
    back(c);
}

static double complex checksum(const struct cube *c)
{
    double complex own = 0;
    double complex all;

    for (long j = 0; j < POINTS; j++) {
        long x = j % c->n;
        long y = 3 * j % c->n;
        long z = 5 * j % c->n;
        if (z >= c->first && z < c->first + c->depth)
            own += c->field[((z - c->first) * c->n + y) * c->n + x];
    }
    MPI_Allreduce(&own, &all, 1, MPI_C_DOUBLE_COMPLEX, MPI_SUM, MPI_COMM_WORLD);
    return all;
}

// Return the error of a checksum, relative to the mean magnitude of the points that it sums.
static double checksum_error(struct cube *c, double complex found, long iteration)
{
    double complex sum = 0;
    double magnitude = 0;

    known_after(c, iteration);
    for (long j = 0; j < POINTS; j++) {
        double complex right = known(c, j % c->n, 3 * j % c->n, 5 * j % c->n);
        sum += right;
        magnitude += cabs(right);
    }
    return cabs(found - sum) / magnitude;
}

// Return the largest error in the whole field at the end of the run, relative to the field's largest value; NaN counts
// as infinite.
static double field_error(struct cube *c)
{
    double own[2] = {0, 0};
    double all[2];

    known_after(c, c->iterations);
    for (long i = 0; i < c->count; i++) {
        double off = cabs(c->field[i] - known_here(c, i));
        own[0] = fmax(own[0], isnan(off) ? INFINITY : off);
        own[1] = fmax(own[1], cabs(known_here(c, i)));
    }
    MPI_Allreduce(own, all, 2, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
    return all[0] / all[1];
}

static int run(const struct options *o, int rank, int ranks)
{
    struct cube c = {0};
    double complex *sums = NULL;
    double elapsed_s;
    double error;
    long wrong = 0;

    sums = calloc((size_t)o->iterations, sizeof *sums);
    if (build(&c, o, rank, ranks) || !sums) {
        fprintf(stderr, "ft: %ld^3 points: not enough memory: give a smaller --size\n", o->size);
        MPI_Abort(MPI_COMM_WORLD, 1);
        goto end;
    }
    begin(&c);
    MPI_Barrier(MPI_COMM_WORLD);
    elapsed_s = -MPI_Wtime();
    for (long i = 0; i < o->iterations; i++) {
        evolve(&c);
        sums[i] = checksum(&c);
    }
    elapsed_s += MPI_Wtime();
    error = field_error(&c);
    for (long i = 0; i < o->iterations; i++) {
        if (!(checksum_error(&c, sums[i], i + 1) <= ERROR_MAX))
            wrong++;
    }
    if (rank == 0)
        printf("ft: %ld^3 points on %d ranks: %ld of %ld checksums wrong: error of the field %.1e, time %.3f s\n",
               o->size, ranks, wrong, o->iterations, error, elapsed_s);
    wrong += !(error <= ERROR_MAX);
end:
    free(sums);
    free_cube(&c);
    return wrong ? 1 : 0;
}

static void refuse(const struct options *o, int ranks, char problem[OPTIONS_PROBLEM_BYTES])
{
    if (o->size & (o->size - 1))
        snprintf(problem, OPTIONS_PROBLEM_BYTES, "--size takes a power of 2");
    else if (o->size % ranks)
        snprintf(problem, OPTIONS_PROBLEM_BYTES,
                 "%ld^3 points do not divide among %d ranks: use a power of 2, %ld at most", o->size, ranks, o->size);
}

static const struct application APPLICATION = {
    .name = "ft",
    .takes =
        {
            .classes = {{'S', 32, 60}, {'W', 64, 60}, {'A', 128, 40}},
            .size_min = 4,
            .size_max = 1024,
        },
    .refuse = refuse,
    .run = run,
};

int main(int argc, char **argv)
{
    return application_main(argc, argv, &APPLICATION);
}
