// SPDX-License-Identifier: Apache-2.0
// reprise-collbench: the latency of one collective at one message size, measured as OSU's benchmarks do.
//
// Every repetition times the collective alone and is followed by a barrier. A rank's time is its mean over the
// repetitions; rank 0 prints the mean, the least and the greatest of these over the ranks as one line of JSON, with the
// means of consecutive batches of repetitions, which show how steady the measurement was. Times are in seconds.
// With --max-seconds, a setting so slow that the whole run would take longer is measured with fewer repetitions.
#include "collective.h"

#include <errno.h>
#include <getopt.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    DEFAULT_WARMUP = 200,
    REPETITIONS_SMALL = 1000, // below LARGE_SIZE bytes
    REPETITIONS_LARGE = 100,
    LARGE_SIZE = 131072,
    BATCHES_MAX = 10,
    REPETITIONS_MAX = 10000000,
    SECONDS_MAX = 86400,
    TRIAL_CALLS = 2, // before a limited run; the first one may have to connect
};

struct options {
    const char *collective;
    long long size;
    long long warmup;
    long long repetitions;
    long long max_seconds; // 0: no limit
    bool check;
};

static const char usage[] = "usage: reprise-collbench --collective NAME [--size BYTES] [--warmup N] [--repetitions N] "
                            "[--max-seconds S] [--check]";

// Rank 0 speaks for all, so that a mistake is one line and not one per rank.
static int refuse(int rank, const char *what, const char *why)
{
    if (rank == 0)
        fprintf(stderr, "reprise-collbench: %s: %s\n", what, why);
    return -1;
}

static int parse_number(const char *text, long long low, long long high, long long *number)
{
    char *end;

    errno = 0;
    *number = strtoll(text, &end, 10);
    return errno || end == text || *end || *number < low || *number > high ? -1 : 0;
}

static int parse(int argc, char **argv, int rank, struct options *o)
{
    static const struct option known[] = {
        {"collective", required_argument, NULL, 'c'},
        {"size", required_argument, NULL, 's'},
        {"warmup", required_argument, NULL, 'w'},
        {"repetitions", required_argument, NULL, 'r'},
        {"max-seconds", required_argument, NULL, 'm'},
        {"check", no_argument, NULL, 'k'},
        {NULL, 0, NULL, 0},
    };
    int option;

    *o = (struct options){.warmup = DEFAULT_WARMUP};
    opterr = 0;
    while ((option = getopt_long(argc, argv, "", known, NULL)) != -1) {
        switch (option) {
        case 'c':
            o->collective = optarg;
            break;
        case 's':
            if (parse_number(optarg, 0, (long long)COLLECTIVE_BUFFER_MAX, &o->size))
                return refuse(rank, optarg, "--size takes bytes, from 0 to 1073741824");
            break;
        case 'w':
            if (parse_number(optarg, 0, REPETITIONS_MAX, &o->warmup))
                return refuse(rank, optarg, "--warmup takes a number from 0 to 10000000");
            break;
        case 'r':
            if (parse_number(optarg, 1, REPETITIONS_MAX, &o->repetitions))
                return refuse(rank, optarg, "--repetitions takes a number from 1 to 10000000");
            break;
        case 'm':
            if (parse_number(optarg, 1, SECONDS_MAX, &o->max_seconds))
                return refuse(rank, optarg, "--max-seconds takes a number from 1 to 86400");
            break;
        case 'k':
            o->check = true;
            break;
        default:
            return refuse(rank, argv[optind - 1], usage);
        }
    }
    if (optind < argc)
        return refuse(rank, argv[optind], usage);
    if (!o->collective)
        return refuse(rank, "--collective is missing", usage);
    if (!o->repetitions)
        o->repetitions = o->size < LARGE_SIZE ? REPETITIONS_SMALL : REPETITIONS_LARGE;
    return 0;
}

// All ranks learn whether one of them got wrong data.
static int check(struct collective *c)
{
    int wrong;
    int any;

    collective_fill(c);
    collective_call(c);
    wrong = collective_verify(c) != 0;
    MPI_Allreduce(&wrong, &any, 1, MPI_INT, MPI_MAX, c->comm);
    return any ? -1 : 0;
}

// Cut warm-up and repetitions down in proportion where together they would take longer than allowed.
static void limit(struct collective *c, struct options *o)
{
    double least = 0;
    double slowest;

    for (int i = 0; i < TRIAL_CALLS; i++) {
        double start = MPI_Wtime();
        collective_call(c);
        MPI_Barrier(c->comm);
        double elapsed = MPI_Wtime() - start;
        least = i == 0 || elapsed < least ? elapsed : least;
    }
    MPI_Allreduce(&least, &slowest, 1, MPI_DOUBLE, MPI_MAX, c->comm); // all ranks must do the same
    double share = (double)o->max_seconds / (slowest * (double)(o->warmup + o->repetitions));
    if (share < 1) {
        o->warmup = (long long)((double)o->warmup * share);
        o->repetitions = (long long)((double)o->repetitions * share);
        o->repetitions = o->repetitions < 1 ? 1 : o->repetitions;
    }
}

static void measure(struct collective *c, const struct options *o, int batches, double *batch_s, double *mean_s)
{
    double total = 0;

    for (long long i = 0; i < o->warmup; i++) {
        collective_call(c);
        MPI_Barrier(c->comm);
    }
    for (int batch = 0; batch < batches; batch++) {
        long long first = o->repetitions * batch / batches;
        long long next = o->repetitions * (batch + 1) / batches;
        double elapsed = 0;
        for (long long i = first; i < next; i++) {
            double start = MPI_Wtime();
            collective_call(c);
            elapsed += MPI_Wtime() - start;
            MPI_Barrier(c->comm);
        }
        batch_s[batch] = elapsed / (double)(next - first);
        total += elapsed;
    }
    *mean_s = total / (double)o->repetitions;
}

static void report(const struct collective *c, const struct options *o, int batches, double *batch_s, double mean_s)
{
    double over_ranks[BATCHES_MAX];
    double sum = 0;
    double low = 0;
    double high = 0;

    MPI_Reduce(batch_s, over_ranks, batches, MPI_DOUBLE, MPI_SUM, 0, c->comm);
    MPI_Reduce(&mean_s, &sum, 1, MPI_DOUBLE, MPI_SUM, 0, c->comm);
    MPI_Reduce(&mean_s, &low, 1, MPI_DOUBLE, MPI_MIN, 0, c->comm);
    MPI_Reduce(&mean_s, &high, 1, MPI_DOUBLE, MPI_MAX, 0, c->comm);
    if (c->rank != 0)
        return;
    printf("{\"collective\": \"%s\", \"size\": %lld, \"ranks\": %d, \"warmup\": %lld, \"repetitions\": %lld, "
           "\"checked\": %s, \"avg_s\": %.9f, \"min_s\": %.9f, \"max_s\": %.9f, \"batches_s\": [",
           o->collective, o->size, c->ranks, o->warmup, o->repetitions, o->check ? "true" : "false", sum / c->ranks,
           low, high);
    for (int batch = 0; batch < batches; batch++)
        printf("%s%.9f", batch ? ", " : "", over_ranks[batch] / c->ranks);
    printf("]}\n");
}

static int run(int argc, char **argv, int rank)
{
    struct options o;
    struct collective c;
    enum collective_status status;
    double batch_s[BATCHES_MAX] = {0};
    double mean_s = 0;
    int batches;

    if (parse(argc, argv, rank, &o))
        return 2;
    status = collective_open(&c, o.collective, (size_t)o.size, MPI_COMM_WORLD);
    if (status == COLLECTIVE_NO_MEMORY) { // perhaps on this rank only: the others must not wait for it
        fprintf(stderr, "reprise-collbench: %s: %s\n", o.collective, collective_message(status));
        MPI_Abort(MPI_COMM_WORLD, 1);
    }
    if (status == COLLECTIVE_UNKNOWN && rank == 0)
        fprintf(stderr, "reprise-collbench: %s: %s: use one of %s\n", o.collective, collective_message(status),
                collective_names());
    else if (status != COLLECTIVE_OK)
        refuse(rank, o.collective, collective_message(status));
    if (status != COLLECTIVE_OK)
        return 2;
    if (o.check && check(&c)) {
        refuse(rank, o.collective, "wrong data arrived: this parametrization must not be used");
        collective_close(&c);
        return 1;
    }
    if (o.max_seconds)
        limit(&c, &o);
    batches = o.repetitions < BATCHES_MAX ? (int)o.repetitions : BATCHES_MAX;
    measure(&c, &o, batches, batch_s, &mean_s);
    report(&c, &o, batches, batch_s, mean_s);
    collective_close(&c);
    return 0;
}

int main(int argc, char **argv)
{
    int rank;
    int status;

    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    status = run(argc, argv, rank);
    MPI_Finalize();
    return status;
}
