// SPDX-License-Identifier: Apache-2.0
// reprise-replay: repeat the recorded communication of an application with MPI, without the application.
//
// Each rank makes its calls of the mix in order, but with different data. Between two calls, it waits as long as the
// application computed between them. Rank 0 prints one line of JSON: the time of the slowest rank, the mean time of all
// ranks, and the slowest rank's time by kind of call. With --bare, only the calls of the mix communicate, so that the
// counts of Open MPI's monitoring can be compared with those of the application.
#include <errno.h>
#include <getopt.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "compute.h"
#include "mix.h"
#include "player.h"
#include "watchdog.h"

static const char usage[] = "usage: reprise-replay [--compute full|none|FACTOR] [--timeout SECONDS] [--bare] MIX";

// Default of --timeout, in seconds: an MPI call that takes longer is considered stuck. The slowest collective on the
// slowest network seen took 20 s.
#define TIMEOUT_S 300.0

struct options {
    double compute;
    double timeout_s; // 0 means no limit
    bool bare;
    const char *mix;
};

static int parse(int argc, char **argv, struct options *o)
{
    static const struct option known[] = {
        {"compute", required_argument, NULL, 'c'},
        {"timeout", required_argument, NULL, 't'},
        {"bare", no_argument, NULL, 'b'},
        {0},
    };
    int option;
    char *end = NULL;

    *o = (struct options){.compute = 1, .timeout_s = TIMEOUT_S};
    opterr = 0;
    while ((option = getopt_long(argc, argv, "", known, NULL)) != -1) {
        double *value = option == 'c' ? &o->compute : &o->timeout_s;
        if (option == 'b') {
            o->bare = true;
            continue;
        }
        if (option == '?')
            return -1;
        if (option == 'c' && (strcmp(optarg, "none") == 0 || strcmp(optarg, "full") == 0)) {
            o->compute = *optarg == 'f';
            continue;
        }
        *value = strtod(optarg, &end);
        if (end == optarg || *end || !(*value >= 0 && *value <= 1e6))
            return -1;
    }
    if (optind != argc - 1)
        return -1;
    o->mix = argv[optind];
    return 0;
}

// Collect the times of all ranks and print the result on rank 0. All ranks must call this function.
static void report(const struct player *p, double seconds, int rank)
{
    struct {
        double seconds;
        int rank;
    } own = {seconds, rank}, slowest;
    struct player_tally tally = p->tally;
    double sum;
    int ranks;
    bool is_first = true;

    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    MPI_Allreduce(&own, &slowest, 1, MPI_DOUBLE_INT, MPI_MAXLOC, MPI_COMM_WORLD);
    MPI_Reduce(&seconds, &sum, 1, MPI_DOUBLE, MPI_SUM, 0, MPI_COMM_WORLD);
    MPI_Bcast(&tally, sizeof(tally), MPI_BYTE, slowest.rank, MPI_COMM_WORLD);
    if (rank)
        return;
    printf("{\"ranks\": %d, \"slowest_s\": %.9f, \"slowest_rank\": %d, \"mean_s\": %.9f, \"compute\": %g, \"kinds\": {",
           ranks, slowest.seconds, slowest.rank, sum / ranks, p->compute);
    for (int of = 0; of < 2 * MIX_KINDS; of++) {
        if (!tally.calls[of])
            continue;
        printf("%s\"%s%s\": {\"calls\": %ld, \"seconds\": %.9f}", is_first ? "" : ", ", of < MIX_KINDS ? "" : "i",
               mix_kind_name((enum mix_kind)(of % MIX_KINDS)), tally.calls[of], tally.seconds[of]);
        is_first = false;
    }
    printf("}}\n");
}

static int complain(int rank, const char *message)
{
    fprintf(stderr, "reprise-replay: rank %d: %s\n", rank, message);
    return EXIT_FAILURE;
}

static int replay(const struct options *o, int rank, int ranks)
{
    struct mix mix;
    struct player player = {0};
    int status = EXIT_FAILURE;

    if (mix_open(&mix, o->mix, rank, ranks) < 0)
        complain(rank, mix.error);
    else if (player_open(&player, &mix, o->compute) < 0)
        complain(rank, player.error);
    else if (o->timeout_s > 0 && watchdog_start(&player, rank, o->timeout_s) < 0)
        complain(rank, "cannot start a thread for the watchdog: raise the limit on processes (ulimit -u)");
    else {
        compute_begin();
        if (!o->bare)
            MPI_Barrier(MPI_COMM_WORLD);
        double begun = MPI_Wtime();
        status = player_run(&player) < 0 ? complain(rank, player.error) : EXIT_SUCCESS;
        double seconds = MPI_Wtime() - begun;
        if (status == EXIT_SUCCESS && !o->bare)
            report(&player, seconds, rank);
    }
    if (status != EXIT_SUCCESS)
        MPI_Abort(MPI_COMM_WORLD, status); // otherwise the other ranks would wait for this one
    player_close(&player);
    mix_close(&mix);
    return status;
}

int main(int argc, char **argv)
{
    struct options options;
    int rank;
    int ranks;

    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    if (parse(argc, argv, &options) < 0) {
        if (rank == 0)
            fprintf(stderr, "%s\n", usage);
        MPI_Finalize();
        return 2;
    }
    int status = replay(&options, rank, ranks);
    MPI_Finalize();
    return status;
}
