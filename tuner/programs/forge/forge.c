// SPDX-License-Identifier: Apache-2.0
// reprise-forge: replay an I/O pattern with MPI, to measure the bandwidth of a file system, with or without forwarders.
//
// Each rank is a client, which writes and reads its part of the files with plain POSIX calls. Rank 0 prints one line of
// JSON: bytes, the time of the slowest rank, and the bandwidth.
#include <getopt.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "forge_run.h"

#define LONGEST_S 1e9 // largest number of seconds in an option

static const char usage[] =
    "usage: reprise-forge [--direct] [--pause SECONDS] [--stone-wall SECONDS] [--validate] STEP...\n"
    "A STEP is phase:REPETITIONS, open:LAYOUT:PATH, close:LAYOUT:PATH, write:LAYOUT:TOTAL:SIZE:PATH or\n"
    "read:LAYOUT:TOTAL:SIZE:PATH, with sizes in bytes and LAYOUT contiguous, strided or individual.";

// Read a number of seconds. Return 0, or -1 if it is not positive.
static int parse_seconds(const char *text, double *seconds)
{
    char *end = NULL;
    *seconds = strtod(text, &end);
    return end == text || *end || !(*seconds > 0 && *seconds <= LONGEST_S) ? -1 : 0;
}

// Return 0; 1 if the help is wanted; -1 if the options are invalid.
static int parse(int argc, char **argv, struct forge_settings *settings)
{
    static const struct option known[] = {
        {"direct", no_argument, NULL, 'd'},
        {"pause", required_argument, NULL, 'p'},
        {"stone-wall", required_argument, NULL, 's'},
        {"validate", no_argument, NULL, 'v'},
        {"help", no_argument, NULL, 'h'},
        {0},
    };
    int option;

    *settings = (struct forge_settings){0};
    opterr = 0;
    while ((option = getopt_long(argc, argv, "", known, NULL)) != -1) {
        switch (option) {
        case 'd':
            settings->is_direct = true;
            break;
        case 'v':
            settings->is_validated = true;
            break;
        case 'p':
            if (parse_seconds(optarg, &settings->pause_s) < 0)
                return -1;
            break;
        case 's':
            if (parse_seconds(optarg, &settings->stone_wall_s) < 0)
                return -1;
            break;
        case 'h':
            return 1;
        default:
            return -1;
        }
    }
    return 0;
}

// Print a bandwidth in MB/s (10^6 bytes a second); null if nothing was moved.
static void print_rate(const char *name, uint64_t bytes, double seconds)
{
    printf(", \"%s\": ", name);
    if (bytes > 0 && seconds > 0)
        printf("%.6f", 1e-6 * (double)bytes / seconds);
    else
        printf("null");
}

static void report(const struct forge_result *r, int ranks)
{
    printf("{\"clients\": %d, \"write_bytes\": %" PRIu64 ", \"write_s\": %.9f", ranks, r->write_bytes, r->write_s);
    print_rate("write_mb_s", r->write_bytes, r->write_s);
    printf(", \"read_bytes\": %" PRIu64 ", \"read_s\": %.9f", r->read_bytes, r->read_s);
    print_rate("read_mb_s", r->read_bytes, r->read_s);
    print_rate("mb_s", r->write_bytes + r->read_bytes, r->write_s + r->read_s);
    printf(", \"stopped\": %s}\n", r->is_stopped ? "true" : "false");
}

static int explore(const struct forge_plan *plan, const struct forge_settings *settings, int rank, int ranks)
{
    char error[FORGE_ERROR_BYTES];
    struct forge_result result;

    if (forge_run(plan, settings, &result, error) < 0) {
        if (*error)
            fprintf(stderr, "reprise-forge: client %d: %s\n", rank, error);
        return EXIT_FAILURE;
    }
    if (rank == 0)
        report(&result, ranks);
    return EXIT_SUCCESS;
}

int main(int argc, char **argv)
{
    struct forge_settings settings;
    struct forge_plan plan = {0};
    char error[FORGE_ERROR_BYTES];
    int rank, ranks, status = 2;

    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    int parsed = parse(argc, argv, &settings);
    if (parsed != 0) {
        if (rank == 0)
            fprintf(parsed > 0 ? stdout : stderr, "%s\n", usage);
        status = parsed > 0 ? EXIT_SUCCESS : 2;
    } else if (forge_plan_read(&plan, (size_t)(argc - optind), argv + optind, error, sizeof error) < 0) {
        if (rank == 0)
            fprintf(stderr, "reprise-forge: %s\n", error);
    } else {
        status = explore(&plan, &settings, rank, ranks);
    }
    forge_plan_free(&plan);
    MPI_Finalize();
    return status;
}
