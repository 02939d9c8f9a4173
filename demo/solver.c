// SPDX-License-Identifier: Apache-2.0
// solver: a small distributed block Gauss-Seidel solver whose run time is dominated by communication.
//
// Solves A x = b, where A is sparse, diagonally dominant and not symmetric: each row couples its unknown to its two
// neighbors and to a few unknowns anywhere else. Each rank owns a block of rows. In a sweep, the ranks relax their
// blocks in turn with the newest values, and the owner of each block broadcasts its new values, because any other row
// may need them. After each sweep, the ranks sum the squared changes of x. The solver stops when the change is small
// enough compared with x. The right-hand side is computed from a known solution, so that both the residual and the
// error can be reported.
#include <errno.h>
#include <getopt.h>
#include <math.h>
#include <mpi.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

enum {
    FAR_COUPLINGS = 4,
    COUPLINGS = FAR_COUPLINGS + 2,
    DEFAULT_SIZE = 32768,
    SIZE_MAX_UNKNOWNS = 1 << 26,
    DEFAULT_ITERATIONS = 5000,
};

// Fraction by which a diagonal element exceeds the sum of the magnitudes of the other elements in its row. With a
// smaller fraction, more sweeps are needed.
static const double DOMINANCE = 0.15;
// Upper limit of the residual, in multiples of the tolerance, for a solution to be accepted after the iteration
// converges.
static const double RESIDUAL_SLACK = 1e3;

struct options {
    long size;
    long iterations;
    double tolerance;
    unsigned long seed;
};

struct system {
    long size;  // total number of unknowns
    long first; // this rank's rows: first ... first + rows - 1
    long rows;
    long *column;     // columns of the couplings, COUPLINGS for each of this rank's rows
    double *value;    // coefficients of the couplings
    double *diagonal; // diagonal elements of this rank's rows
    double *b;        // right-hand side of this rank's rows
    double *x;        // values of all unknowns
};

static long block_start(long size, int ranks, int rank)
{
    return size / ranks * rank + (rank < size % ranks ? rank : size % ranks);
}

// Return a number from 0 to 2^64 - 1 that depends on all arguments (the finalizer of SplitMix64).
static uint64_t hash(uint64_t seed, uint64_t row, uint64_t draw)
{
    uint64_t z = seed * 0x9e3779b97f4a7c15u + row * 0xd1b54a32d192ed03u + (draw + 1) * 0x8cb92ba72f3d8dd7u;

    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return z ^ (z >> 31);
}

static double unit(uint64_t bits)
{
    return (double)(bits >> 11) * 0x1.0p-53;
}

// Return element `i` of the known solution, from which the right-hand side is computed.
static double known(long i)
{
    return 1 + sin(0.01 * (double)i);
}

static void build_row(struct system *s, long row, unsigned long seed)
{
    long *column = s->column + row * COUPLINGS;
    double *value = s->value + row * COUPLINGS;
    long i = s->first + row;
    double sum = 0;

    column[0] = (i + s->size - 1) % s->size;
    column[1] = (i + 1) % s->size;
    for (int k = 2; k < COUPLINGS; k++)
        column[k] = (long)(hash(seed, (uint64_t)i, (uint64_t)k) % (uint64_t)s->size);
    for (int k = 0; k < COUPLINGS; k++) {
        value[k] = column[k] == i ? 0 : -(0.5 + unit(hash(seed, (uint64_t)i, (uint64_t)(COUPLINGS + k))));
        sum -= value[k];
    }
    s->diagonal[row] = sum * (1 + DOMINANCE);
    s->b[row] = s->diagonal[row] * known(i);
    for (int k = 0; k < COUPLINGS; k++)
        s->b[row] += value[k] * known(column[k]);
}

static void free_system(struct system *s)
{
    free(s->column);
    free(s->value);
    free(s->diagonal);
    free(s->b);
    free(s->x);
}

static int build(struct system *s, const struct options *o, int rank, int ranks)
{
    s->size = o->size;
    s->first = block_start(o->size, ranks, rank);
    s->rows = block_start(o->size, ranks, rank + 1) - s->first;
    s->column = calloc((size_t)s->rows * COUPLINGS, sizeof *s->column);
    s->value = calloc((size_t)s->rows * COUPLINGS, sizeof *s->value);
    s->diagonal = calloc((size_t)s->rows, sizeof *s->diagonal);
    s->b = calloc((size_t)s->rows, sizeof *s->b);
    s->x = calloc((size_t)s->size, sizeof *s->x);
    if (!s->column || !s->value || !s->diagonal || !s->b || !s->x)
        return -1;
    for (long row = 0; row < s->rows; row++)
        build_row(s, row, o->seed);
    return 0;
}

static double off_diagonal(const struct system *s, long row)
{
    double sum = 0;

    for (int k = 0; k < COUPLINGS; k++)
        sum += s->value[row * COUPLINGS + k] * s->x[s->column[row * COUPLINGS + k]];
    return sum;
}

// Relax the rank's rows in order, and return the squared change of x.
static double relax(struct system *s)
{
    double change = 0;

    for (long row = 0; row < s->rows; row++) {
        double next = (s->b[row] - off_diagonal(s, row)) / s->diagonal[row];
        double step = next - s->x[s->first + row];
        change += step * step;
        s->x[s->first + row] = next;
    }
    return change;
}

// Make a sweep, and return the norm of the change that it makes to x, divided by the norm of x.
static double sweep(struct system *s, int rank, int ranks)
{
    double own[2] = {0, 0};
    double all[2];

    for (int root = 0; root < ranks; root++) {
        long first = block_start(s->size, ranks, root);
        long rows = block_start(s->size, ranks, root + 1) - first;
        if (root == rank)
            own[0] = relax(s);
        MPI_Bcast(s->x + first, (int)rows, MPI_DOUBLE, root, MPI_COMM_WORLD);
    }
    for (long row = 0; row < s->rows; row++)
        own[1] += s->x[s->first + row] * s->x[s->first + row];
    MPI_Allreduce(own, all, 2, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
    return sqrt(all[0] / all[1]);
}

// Compute the relative residual |b - A x| / |b| and the largest error of an unknown.
static void verify(const struct system *s, double *residual, double *error)
{
    double own[2] = {0, 0};
    double all[2];
    double worst = 0;

    for (long row = 0; row < s->rows; row++) {
        double rest = s->b[row] - off_diagonal(s, row) - s->diagonal[row] * s->x[s->first + row];
        own[0] += rest * rest;
        own[1] += s->b[row] * s->b[row];
        worst = fmax(worst, fabs(s->x[s->first + row] - known(s->first + row)));
    }
    MPI_Allreduce(own, all, 2, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
    MPI_Allreduce(&worst, error, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
    *residual = sqrt(all[0] / all[1]);
}

static int parse_long(const char *text, long low, long high, long *number)
{
    char *end;

    errno = 0;
    *number = strtol(text, &end, 10);
    return errno || end == text || *end || *number < low || *number > high ? -1 : 0;
}

static int parse_tolerance(const char *text, double *number)
{
    char *end;

    *number = strtod(text, &end);
    return end == text || *end || !(*number > 0 && *number < 1) ? -1 : 0;
}

static int parse(int argc, char **argv, int ranks, struct options *o, const char **problem)
{
    static const struct option known_options[] = {
        {"size", required_argument, NULL, 'n'},
        {"iterations", required_argument, NULL, 'i'},
        {"tolerance", required_argument, NULL, 't'},
        {"seed", required_argument, NULL, 's'},
        {NULL, 0, NULL, 0},
    };
    int option;
    long seed;

    *o = (struct options){DEFAULT_SIZE, DEFAULT_ITERATIONS, 1e-8, 1};
    opterr = 0;
    *problem = "usage: solver [--size UNKNOWNS] [--iterations MOST] [--tolerance T] [--seed N]";
    while ((option = getopt_long(argc, argv, "", known_options, NULL)) != -1) {
        if (option == 'n' && parse_long(optarg, 3, SIZE_MAX_UNKNOWNS, &o->size)) {
            *problem = "--size takes a number from 3 to 67108864";
            return -1;
        }
        if (option == 'i' && parse_long(optarg, 1, 100000000, &o->iterations)) {
            *problem = "--iterations takes a number from 1 to 100000000";
            return -1;
        }
        if (option == 't' && parse_tolerance(optarg, &o->tolerance)) {
            *problem = "--tolerance takes a number between 0 and 1";
            return -1;
        }
        if (option == 's') {
            if (parse_long(optarg, 0, 1000000000, &seed)) {
                *problem = "--seed takes a number from 0 to 1000000000";
                return -1;
            }
            o->seed = (unsigned long)seed;
        }
        if (option == '?')
            return -1;
    }
    if (o->size < ranks) {
        *problem = "--size must be at least the number of ranks";
        return -1;
    }
    return optind < argc ? -1 : 0;
}

static int solve(const struct options *o, int rank, int ranks)
{
    struct system s = {0};
    long sweeps = 0;
    double change = 1;
    double residual;
    double error;
    double elapsed_s;
    int solved;

    if (build(&s, o, rank, ranks)) {
        fprintf(stderr, "solver: not enough memory for %ld unknowns: use a smaller --size\n", o->size);
        free_system(&s);
        MPI_Abort(MPI_COMM_WORLD, 1);
    }
    MPI_Barrier(MPI_COMM_WORLD);
    elapsed_s = -MPI_Wtime();
    while (change > o->tolerance && sweeps < o->iterations) {
        change = sweep(&s, rank, ranks);
        sweeps++;
    }
    elapsed_s += MPI_Wtime();
    verify(&s, &residual, &error);
    solved = change <= o->tolerance && residual <= RESIDUAL_SLACK * o->tolerance;
    if (rank == 0)
        printf("solver: %ld unknowns on %d ranks: %s after %ld sweeps: residual %.2e, error %.2e, time %.3f s\n",
               o->size, ranks, solved ? "solved" : "not solved", sweeps, residual, error, elapsed_s);
    free_system(&s);
    return solved ? 0 : 1;
}

int main(int argc, char **argv)
{
    struct options o;
    const char *problem;
    int rank;
    int ranks;
    int status = 2;

    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    if (parse(argc, argv, ranks, &o, &problem) == 0)
        status = solve(&o, rank, ranks);
    else if (rank == 0)
        fprintf(stderr, "solver: %s\n", problem);
    MPI_Finalize();
    return status;
}
