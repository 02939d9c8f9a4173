// SPDX-License-Identifier: Apache-2.0
#include "application.h"

#include <errno.h>
#include <getopt.h>
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

enum {
    ITERATIONS_MAX = 1000000,
    SEED_MAX = 1000000000,
};

static int read_number(const char *name, const char *text, long low, long high, long *number, char *problem)
{
    char *end = NULL;

    errno = 0;
    *number = strtol(text, &end, 10);
    if (!errno && end != text && !*end && *number >= low && *number <= high)
        return 0;
    snprintf(problem, OPTIONS_PROBLEM_BYTES, "--%s takes a number from %ld to %ld", name, low, high);
    return -1;
}

static int read_class(const struct takes *takes, const char *text, struct options *options, char *problem)
{
    for (int i = 0; i < OPTIONS_CLASSES; i++) {
        if (text[0] == takes->classes[i].name && !text[1]) {
            options->size = takes->classes[i].size;
            options->iterations = takes->classes[i].iterations;
            return 0;
        }
    }
    snprintf(problem, OPTIONS_PROBLEM_BYTES, "--class takes S, W or A");
    return -1;
}

// Read the command line into `options`. Return 0. On failure, write a message without the program's name to `problem`
// and return -1.
static int read_options(int argc, char **argv, const struct takes *takes, struct options *options,
                        char problem[OPTIONS_PROBLEM_BYTES])
{
    static const struct option known[] = {
        {"class", required_argument, NULL, 'c'},
        {"size", required_argument, NULL, 'n'},
        {"iterations", required_argument, NULL, 'i'},
        {"seed", required_argument, NULL, 's'},
        {NULL, 0, NULL, 0},
    };
    const char *class = "S";
    long size = 0;
    long iterations = 0;
    long seed = 1;
    int option;

    opterr = 0;
    while ((option = getopt_long(argc, argv, "", known, NULL)) != -1) {
        int wrong = 0;
        switch (option) {
        case 'c':
            class = optarg;
            break;
        case 'n':
            wrong = read_number("size", optarg, takes->size_min, takes->size_max, &size, problem);
            break;
        case 'i':
            wrong = read_number("iterations", optarg, 1, ITERATIONS_MAX, &iterations, problem);
            break;
        case 's':
            wrong = read_number("seed", optarg, 0, SEED_MAX, &seed, problem);
            break;
        default:
            goto usage;
        }
        if (wrong)
            return -1;
    }
    if (optind < argc)
        goto usage;
    if (read_class(takes, class, options, problem))
        return -1;
    options->size = size ? size : options->size;
    options->iterations = iterations ? iterations : options->iterations;
    options->seed = (unsigned long)seed;
    return 0;
usage:
    snprintf(problem, OPTIONS_PROBLEM_BYTES, "takes [--class S|W|A] [--size N] [--iterations N] [--seed N]");
    return -1;
}

int application_main(int argc, char **argv, const struct application *application)
{
    struct options o;
    char problem[OPTIONS_PROBLEM_BYTES] = "";
    int rank;
    int ranks;
    int status = 2;

    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    if (read_options(argc, argv, &application->takes, &o, problem) == 0)
        application->refuse(&o, ranks, problem);
    if (!*problem)
        status = application->run(&o, rank, ranks);
    else if (rank == 0)
        fprintf(stderr, "%s: %s\n", application->name, problem);
    MPI_Finalize();
    return status;
}
