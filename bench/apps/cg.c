// SPDX-License-Identifier: Apache-2.0
// cg: conjugate gradients on a sparse, symmetric, positive definite random matrix, similar to NAS CG.
//
// Each iteration solves A x = b for a new b in 25 steps. The number of steps does not depend on the residual, so every
// run does the same work. Each iteration then computes the true residual. A step consists of a product of A with a
// vector that every rank needs in full (MPI_Allgather), and two scalar products (MPI_Allreduce of 8 bytes).
//
// Differences from NAS CG: (1) Only rows are divided among the ranks, not rows and columns. NAS CG arranges the ranks
// in a grid. It uses point-to-point messages both to sum the parts of a product within a row of the grid and for the
// scalar products, so the only collectives of NAS CG that a rules file could affect are those that combine the values
// of its timers. Here the exchange of the vector and the scalar products are collectives among all ranks, so the file
// determines most of the communication. This program is therefore one that a rules file can help, not a typical
// program. (2) The couplings have random values, at random distances from the diagonal, so that each rank can compute
// its rows independently. (3) NAS CG iterates towards an eigenvalue and compares it with a constant; here the
// right-hand sides are computed from known solutions, so that both the residual and the error of every iteration can be
// computed.
#include <math.h>
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

#include "application.h"
#include "draw.h"

enum {
    DISTANCES = 8, // number of distances; at each distance, an unknown is coupled to two other unknowns
    COUPLINGS = 2 * DISTANCES,
    STEPS = 25,
};

// Streams of random numbers. Known solutions use stream KNOWN and the following streams.
enum { DISTANCE, VALUE, KNOWN = VALUE + DISTANCES };

// Ratio of a diagonal element to the sum of the other magnitudes in its row. With this ratio, the norm of the residual
// after 25 steps is about 1e-14 times the norm of b.
static const double DOMINANCE = 1.1;
static const double RESIDUAL_MAX = 1e-10;
static const double ERROR_MAX = 1e-9;

// The part of the linear system that one rank owns, which is rows `first` to `first + rows - 1`. `whole` has one
// element for each unknown; every other vector has one element for each of the rank's rows.
struct system {
    unsigned long seed;
    long size;
    long first;
    long rows;
    long *column;  // columns of the coefficients, COUPLINGS per row
    double *value; // coefficients in these columns
    double *diagonal;
    double *whole;
    double *b;
    double *x;
    double *r;
    double *p;
    double *q;
};

static void free_system(struct system *s)
{
    free(s->column);
    free(s->value);
    free(s->diagonal);
    free(s->whole);
    free(s->b);
    free(s->x);
    free(s->r);
    free(s->p);
    free(s->q);
}

// Fill in one row of A. The coefficient that couples the unknowns i and i + distance is drawn with the lower index i,
// so A is symmetric.
static void build_row(struct system *s, long row)
{
    long *column = s->column + row * COUPLINGS;
    double *value = s->value + row * COUPLINGS;
    long i = s->first + row;
    double sum = 0;

    for (int k = 0; k < DISTANCES; k++) {
        long distance = 1 + (long)(draw_bits(s->seed, DISTANCE, (uint64_t)k) % (uint64_t)(s->size - 1));
        long below = (i + s->size - distance) % s->size;
        column[2 * k] = (i + distance) % s->size;
        value[2 * k] = draw_signed(s->seed, VALUE + (uint64_t)k, (uint64_t)i);
        column[2 * k + 1] = below;
        value[2 * k + 1] = draw_signed(s->seed, VALUE + (uint64_t)k, (uint64_t)below);
        sum += fabs(value[2 * k]) + fabs(value[2 * k + 1]);
    }
    s->diagonal[row] = DOMINANCE * sum;
}

static int build(struct system *s, const struct options *o, int rank, int ranks)
{
    size_t rows = (size_t)(o->size / ranks);

    s->seed = o->seed;
    s->size = o->size;
    s->rows = (long)rows;
    s->first = s->rows * rank;
    s->column = calloc(rows * COUPLINGS, sizeof *s->column);
    s->value = calloc(rows * COUPLINGS, sizeof *s->value);
    s->diagonal = calloc(rows, sizeof *s->diagonal);
    s->whole = calloc((size_t)o->size, sizeof *s->whole);
    s->b = calloc(rows, sizeof *s->b);
    s->x = calloc(rows, sizeof *s->x);
    s->r = calloc(rows, sizeof *s->r);
    s->p = calloc(rows, sizeof *s->p);
    s->q = calloc(rows, sizeof *s->q);
    if (!s->column || !s->value || !s->diagonal || !s->whole || !s->b || !s->x || !s->r || !s->p || !s->q)
        return -1;
    for (long row = 0; row < s->rows; row++)
        build_row(s, row);
    return 0;
}

// Return element `i` of the known solution, from which the iteration's right-hand side is computed.
static double known(const struct system *s, long iteration, long i)
{
    return draw_signed(s->seed, KNOWN + (uint64_t)iteration, (uint64_t)i);
}

// Compute the rank's rows of result = A * whole.
static void multiply(const struct system *s, double *result)
{
    for (long row = 0; row < s->rows; row++) {
        double sum = s->diagonal[row] * s->whole[s->first + row];
        for (long k = row * COUPLINGS; k < (row + 1) * COUPLINGS; k++)
            sum += s->value[k] * s->whole[s->column[k]];
        result[row] = sum;
    }
}

static void multiply_all(struct system *s, double *vector, double *result)
{
    MPI_Allgather(vector, (int)s->rows, MPI_DOUBLE, s->whole, (int)s->rows, MPI_DOUBLE, MPI_COMM_WORLD);
    multiply(s, result);
}

static double dot(const struct system *s, const double *a, const double *b)
{
    double own = 0;
    double all;

    for (long row = 0; row < s->rows; row++)
        own += a[row] * b[row];
    MPI_Allreduce(&own, &all, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
    return all;
}

// Return a / b, or 0 if b is 0. In that case, the residual is also 0 and the solution is already exact.
static double ratio(double a, double b)
{
    return b > 0 ? a / b : 0;
}

static void solve(struct system *s, long iteration)
{
    double rho;

    for (long i = 0; i < s->size; i++)
        s->whole[i] = known(s, iteration, i);
    multiply(s, s->b);
    for (long row = 0; row < s->rows; row++) {
        s->x[row] = 0;
        s->r[row] = s->p[row] = s->b[row];
    }
    rho = dot(s, s->r, s->r);
    for (int step = 0; step < STEPS; step++) {
        double before = rho;
        multiply_all(s, s->p, s->q);
        double alpha = ratio(rho, dot(s, s->p, s->q));
        for (long row = 0; row < s->rows; row++) {
            s->x[row] += alpha * s->p[row];
            s->r[row] -= alpha * s->q[row];
        }
        rho = dot(s, s->r, s->r);
        for (long row = 0; row < s->rows; row++)
            s->p[row] = s->r[row] + ratio(rho, before) * s->p[row];
    }
}

// Compute the relative residual |b - A x| / |b| and the relative error |x - known| / |known|. A NaN in x makes both
// NaN.
static void verify(struct system *s, long iteration, double *residual, double *error)
{
    double own[4] = {0};
    double all[4];

    multiply_all(s, s->x, s->q);
    for (long row = 0; row < s->rows; row++) {
        double rest = s->b[row] - s->q[row];
        double right = known(s, iteration, s->first + row);
        own[0] += rest * rest;
        own[1] += s->b[row] * s->b[row];
        own[2] += (s->x[row] - right) * (s->x[row] - right);
        own[3] += right * right;
    }
    MPI_Allreduce(own, all, 4, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
    *residual = sqrt(all[0] / all[1]);
    *error = sqrt(all[2] / all[3]);
}

static int run(const struct options *o, int rank, int ranks)
{
    struct system s = {0};
    double residual = 0;
    double error = 0;
    double elapsed_s;
    long wrong = 0;

    if (build(&s, o, rank, ranks)) {
        fprintf(stderr, "cg: %ld unknowns: not enough memory: give a smaller --size\n", o->size);
        MPI_Abort(MPI_COMM_WORLD, 1);
        goto end;
    }
    MPI_Barrier(MPI_COMM_WORLD);
    elapsed_s = -MPI_Wtime();
    for (long iteration = 0; iteration < o->iterations; iteration++) {
        solve(&s, iteration);
        verify(&s, iteration, &residual, &error);
        if (!(residual <= RESIDUAL_MAX && error <= ERROR_MAX))
            wrong++;
    }
    elapsed_s += MPI_Wtime();
    if (rank == 0)
        printf("cg: %ld unknowns on %d ranks: %ld of %ld solutions wrong: residual %.1e, error %.1e, time %.3f s\n",
               o->size, ranks, wrong, o->iterations, residual, error, elapsed_s);
end:
    free_system(&s);
    return wrong ? 1 : 0;
}

static void refuse(const struct options *o, int ranks, char problem[OPTIONS_PROBLEM_BYTES])
{
    if (o->size % ranks)
        snprintf(problem, OPTIONS_PROBLEM_BYTES, "%ld unknowns do not divide among %d ranks: give another --size",
                 o->size, ranks);
}

static const struct application APPLICATION = {
    .name = "cg",
    .takes =
        {
            .classes = {{'S', 8192, 4}, {'W', 32768, 12}, {'A', 131072, 30}},
            .size_min = 64,
            .size_max = 1 << 26,
        },
    .refuse = refuse,
    .run = run,
};

int main(int argc, char **argv)
{
    return application_main(argc, argv, &APPLICATION);
}
