// SPDX-License-Identifier: Apache-2.0
// reprise-collbench: measure the latencies of collectives at given message sizes, one after the other, as OSU's
// benchmarks do.
//
// Each repetition times only the collective and is followed by a barrier. A rank's time is its mean over the
// repetitions. Rank 0 prints the mean, the minimum and the maximum over the ranks as one line of JSON. The line also
// has the slowest rank's means of consecutive batches of repetitions, which show how steady the measurement was. Times
// are in seconds. Campaigns judge settings by the maximum, max_s, because an application waits for its slowest rank.
//
// With --passes N, the calls of each measurement are divided among N passes through all measurements, so that a short
// disturbance affects a small part of many measurements, and not all of one measurement. In each pass, a line is
// printed for each measurement, with the results of all its calls so far. A line is also printed before each pass
// except the first. If a run ends early, the measurements without a line after the start of the last pass show where
// the run ended.
//
// With --max-seconds, a measurement that would take longer uses fewer repetitions. A measurement with a limit in
// seconds (COLLECTIVE:BYTES:SECONDS) is given up if even the fastest of its first calls exceeds the limit, or if its
// first call far exceeds the limit. Its line then has the fastest call's time as "above_s" and no other times.
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
    REPETITIONS_SMALL = 1000, // default for sizes below LARGE_SIZE bytes
    REPETITIONS_LARGE = 100,
    LARGE_SIZE = 131072,
    BATCHES_MAX = 10,
    REPETITIONS_MAX = 10000000,
    PASSES_MAX = 1000,
    SECONDS_MAX = 86400,
    TRIAL_CALLS = 3, // timed before a measurement with a limit; several, because the first call may have to connect
    FAR = 10,        // a call that takes more than this many times the limit ends the trial calls
};

static const double connecting_s = 0.1; // maximum time that a first call needs to connect

// Numbers of calls of the collective in one measurement.
struct calls {
    long long warmup;
    long long repetitions;
};

// One collective at one size, and this rank's measurements of it. The measurement is given up if its trial calls take
// longer than `most_s`, unless `most_s` is 0.
struct wanted {
    char *collective;
    long long size;
    double most_s;
    struct calls calls;
    bool given_up;
    long long done;              // completed repetitions
    double total_s;              // total time of the completed repetitions
    double batch_s[BATCHES_MAX]; // total time of each batch
};

struct options {
    struct wanted *wanted; // array with room for all arguments
    int count;
    long long warmup;
    long long repetitions; // 0 means a number that depends on the size
    double max_seconds;    // 0 means no limit
    long long passes;
    bool check;
};

static const char usage[] = "usage: reprise-collbench [--warmup N] [--repetitions N] [--max-seconds S] "
                            "[--passes N] [--check] COLLECTIVE[:BYTES[:SECONDS]]...";

// Print an error on rank 0 only, so that users see one line and not one line per rank. Returns -1.
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

static int parse_seconds(const char *text, double *seconds)
{
    char *end;

    *seconds = strtod(text, &end);
    return end == text || *end || !(*seconds > 0 && *seconds <= SECONDS_MAX) ? -1 : 0;
}

// Parse COLLECTIVE[:BYTES[:SECONDS]]. If the word is valid, a null character replaces the first colon, so that `word`
// becomes the collective's name.
static int parse_wanted(char *word, struct wanted *wanted)
{
    char *end = strchr(word, ':');
    char *name_end = end;

    *wanted = (struct wanted){.collective = word};
    if (end) {
        const char *size = end + 1;
        errno = 0;
        wanted->size = strtoll(size, &end, 10);
        if (errno || end == size || wanted->size < 0 || wanted->size > (long long)COLLECTIVE_BUFFER_MAX)
            return -1;
    }
    if (end && *end == ':' ? parse_seconds(end + 1, &wanted->most_s) : end && *end)
        return -1;
    if (name_end)
        *name_end = '\0';
    return 0;
}

static int parse(int argc, char **argv, int rank, struct options *o)
{
    static const struct option known[] = {
        {"warmup", required_argument, NULL, 'w'},
        {"repetitions", required_argument, NULL, 'r'},
        {"max-seconds", required_argument, NULL, 'm'},
        {"passes", required_argument, NULL, 'p'},
        {"check", no_argument, NULL, 'k'},
        {NULL, 0, NULL, 0},
    };
    int option;

    o->warmup = DEFAULT_WARMUP;
    o->passes = 1;
    opterr = 0;
    while ((option = getopt_long(argc, argv, "", known, NULL)) != -1) {
        switch (option) {
        case 'w':
            if (parse_number(optarg, 0, REPETITIONS_MAX, &o->warmup))
                return refuse(rank, optarg, "--warmup takes a number from 0 to 10000000");
            break;
        case 'r':
            if (parse_number(optarg, 1, REPETITIONS_MAX, &o->repetitions))
                return refuse(rank, optarg, "--repetitions takes a number from 1 to 10000000");
            break;
        case 'm':
            if (parse_seconds(optarg, &o->max_seconds))
                return refuse(rank, optarg, "--max-seconds takes a number above 0 and at most 86400");
            break;
        case 'p':
            if (parse_number(optarg, 1, PASSES_MAX, &o->passes))
                return refuse(rank, optarg, "--passes takes a number from 1 to 1000");
            break;
        case 'k':
            o->check = true;
            break;
        default:
            return refuse(rank, argv[optind - 1], usage);
        }
    }
    for (; optind < argc; optind++)
        if (parse_wanted(argv[optind], &o->wanted[o->count++]))
            return refuse(rank, argv[optind],
                          "bytes must be from 0 to 1073741824, and seconds above 0 and at most "
                          "86400");
    if (!o->count)
        return refuse(rank, "no collective given: name at least one", usage);
    return 0;
}

// Check the received data of one call. Returns -1 on all ranks if any of them received wrong data, otherwise 0.
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

// Shortest times of a few calls, in seconds: `call_s` for the call alone, and `all_s` for the call and the barrier
// after it.
struct quickest {
    double call_s;
    double all_s;
    int calls; // number of calls made
};

static double less(double one, double other)
{
    return one < other ? one : other;
}

// Time a few calls. Returns the times of the slowest rank, on all ranks.
static struct quickest try_calls(struct collective *c, double most_s)
{
    double least[2] = {SECONDS_MAX, SECONDS_MAX};
    double slowest[2] = {0, 0};
    bool far_above = false;
    int calls;

    for (calls = 0; calls < TRIAL_CALLS && !far_above; calls++) {
        double start = MPI_Wtime();
        collective_call(c);
        least[0] = less(MPI_Wtime() - start, least[0]);
        MPI_Barrier(c->comm);
        least[1] = less(MPI_Wtime() - start, least[1]);
        MPI_Allreduce(least, slowest, 2, MPI_DOUBLE, MPI_MAX, c->comm);
        far_above = most_s > 0 && slowest[0] > FAR * most_s && slowest[0] > connecting_s;
    }
    return (struct quickest){.call_s = slowest[0], .all_s = slowest[1], .calls = calls};
}

// Reduce warm-up calls and repetitions by the same factor if together they would take longer than `max_seconds`.
static void limit(struct calls *calls, double all_s, double max_seconds)
{
    double share = max_seconds / (all_s * (double)(calls->warmup + calls->repetitions));

    if (share < 1) {
        calls->warmup = (long long)((double)calls->warmup * share);
        calls->repetitions = (long long)((double)calls->repetitions * share);
        calls->repetitions = calls->repetitions < 1 ? 1 : calls->repetitions;
    }
}

// Divide `count` calls into `parts` parts, and return the index of the first call of part `part`. Indices start at 0.
static long long first_of(long long count, long long part, long long parts)
{
    return (count * part + parts - 1) / parts;
}

static int batches_of(const struct wanted *w)
{
    return w->calls.repetitions < BATCHES_MAX ? (int)w->calls.repetitions : BATCHES_MAX;
}

static void measure(struct collective *c, struct wanted *w, long long pass, long long passes)
{
    long long next = first_of(w->calls.repetitions, pass + 1, passes);

    if (w->done == next)
        return;
    for (long long i = first_of(w->calls.warmup, pass, passes); i < first_of(w->calls.warmup, pass + 1, passes); i++) {
        collective_call(c);
        MPI_Barrier(c->comm);
    }
    for (; w->done < next; w->done++) {
        double start = MPI_Wtime();
        collective_call(c);
        double elapsed = MPI_Wtime() - start;
        MPI_Barrier(c->comm);
        w->total_s += elapsed;
        w->batch_s[w->done * batches_of(w) / w->calls.repetitions] += elapsed;
    }
}

// Return the number of completed repetitions of a batch.
static long long done_of(const struct wanted *w, int batch)
{
    long long first = first_of(w->calls.repetitions, batch, batches_of(w));
    long long next = first_of(w->calls.repetitions, batch + 1, batches_of(w));

    next = next < w->done ? next : w->done;
    return next > first ? next - first : 0;
}

static void report(const struct collective *c, const struct wanted *w, long long pass, const struct options *o)
{
    double mean_s = w->total_s / (double)w->done;
    double sum_s = 0;
    double slowest_batch_s[BATCHES_MAX] = {0};
    double extremes[2] = {mean_s, -mean_s};
    double greatest[2] = {0, 0};

    MPI_Reduce(&mean_s, &sum_s, 1, MPI_DOUBLE, MPI_SUM, 0, c->comm);
    MPI_Reduce(w->batch_s, slowest_batch_s, BATCHES_MAX, MPI_DOUBLE, MPI_MAX, 0, c->comm);
    MPI_Reduce(extremes, greatest, 2, MPI_DOUBLE, MPI_MAX, 0, c->comm);
    if (c->rank != 0)
        return;
    printf("{\"collective\": \"%s\", \"size\": %lld, \"ranks\": %d, \"pass\": %lld, \"passes\": %lld, "
           "\"warmup\": %lld, \"repetitions\": %lld, \"planned\": %lld, \"checked\": %s, \"avg_s\": %.9f, "
           "\"min_s\": %.9f, \"max_s\": %.9f, \"batches_s\": [",
           w->collective, w->size, c->ranks, pass + 1, o->passes, first_of(w->calls.warmup, pass + 1, o->passes),
           w->done, w->calls.repetitions, o->check ? "true" : "false", sum_s / c->ranks, -greatest[1], greatest[0]);
    for (int batch = 0; batch < batches_of(w) && done_of(w, batch); batch++)
        printf("%s%.9f", batch ? ", " : "", slowest_batch_s[batch] / (double)done_of(w, batch));
    printf("]}\n");
}

// Choose the number of calls, or give up the measurement.
static void plan(struct collective *c, struct wanted *w, const struct options *o)
{
    w->calls = (struct calls){.warmup = o->warmup, .repetitions = o->repetitions};
    if (!w->calls.repetitions)
        w->calls.repetitions = w->size < LARGE_SIZE ? REPETITIONS_SMALL : REPETITIONS_LARGE;
    if (o->max_seconds > 0 || w->most_s > 0) {
        struct quickest tried = try_calls(c, w->most_s);
        w->given_up = w->most_s > 0 && tried.call_s > w->most_s;
        if (w->given_up && c->rank == 0)
            printf("{\"collective\": \"%s\", \"size\": %lld, \"ranks\": %d, \"calls\": %d, \"above_s\": %.9f}\n",
                   w->collective, w->size, c->ranks, tried.calls, tried.call_s);
        if (o->max_seconds > 0)
            limit(&w->calls, tried.all_s, o->max_seconds);
    }
}

// True if the measurement needs no further pass.
static bool is_over(const struct wanted *w)
{
    return w->given_up || (w->done && w->done == w->calls.repetitions);
}

static void measure_and_report(struct collective *c, struct wanted *w, long long pass, const struct options *o)
{
    if (pass == 0)
        plan(c, w, o);
    if (w->given_up)
        return;
    measure(c, w, pass, o->passes);
    report(c, w, pass, o);
}

static int run_one(struct wanted *wanted, long long pass, const struct options *o, int rank)
{
    struct collective c;
    enum collective_status status = collective_open(&c, wanted->collective, (size_t)wanted->size, MPI_COMM_WORLD);

    if (status == COLLECTIVE_NO_MEMORY) { // abort, because the other ranks would wait if only this rank lacks memory
        fprintf(stderr, "reprise-collbench: %s: %s\n", wanted->collective, collective_message(status));
        MPI_Abort(MPI_COMM_WORLD, 1);
    }
    if (status == COLLECTIVE_UNKNOWN && rank == 0)
        fprintf(stderr, "reprise-collbench: %s: %s: use one of %s\n", wanted->collective, collective_message(status),
                collective_names());
    else if (status != COLLECTIVE_OK)
        refuse(rank, wanted->collective, collective_message(status));
    if (status != COLLECTIVE_OK)
        return 2;
    if (pass == 0 && o->check && check(&c)) {
        refuse(rank, wanted->collective, "wrong data arrived: do not use this parametrization");
        collective_close(&c);
        return 1;
    }
    measure_and_report(&c, wanted, pass, o);
    collective_close(&c);
    fflush(stdout); // write the results so far, so that they are kept even if the next collective ends the run
    return 0;
}

static int run(int argc, char **argv, int rank)
{
    struct options o = {.wanted = calloc((size_t)argc, sizeof *o.wanted)};
    int status = 0;

    if (!o.wanted) {
        fprintf(stderr, "reprise-collbench: not enough memory for %d arguments\n", argc);
        MPI_Abort(MPI_COMM_WORLD, 1);
    }
    if (parse(argc, argv, rank, &o))
        status = 2;
    for (long long pass = 0; pass < o.passes && !status; pass++) {
        if (pass > 0 && rank == 0)
            printf("{\"begins\": %lld}\n", pass + 1);
        fflush(stdout);
        for (int i = 0; i < o.count && !status; i++)
            if (!is_over(&o.wanted[i]))
                status = run_one(&o.wanted[i], pass, &o, rank);
    }
    free(o.wanted);
    return status;
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
