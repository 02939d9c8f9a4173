// SPDX-License-Identifier: Apache-2.0
// reprise-rulesprobe: report which collective calls succeed. This proves whether a file of rules is in effect.
//
// With Open MPI, put an algorithm id that does not exist into the rule that should match a call: the call fails with
// MPI_ERR_ARG (13) if and only if the rule is in effect. Open MPI itself prints nothing, whether it uses a rules file
// or ignores it. With MPICH, put an algorithm of another collective into the rule: the call ends the program. Each
// argument is a call, COLLECTIVE:SIZE or COLLECTIVE:SIZE:RANKS, on a communicator of all ranks or of the first RANKS
// ranks. For each call, rank 0 prints a line of JSON with the return code.
//
// The rules under test may break any collective. Therefore only point-to-point messages carry the results, and smaller
// communicators are created without a collective call on the larger one.
#include "collective.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { NAME_MAX_LENGTH = 32, RESULT_TAG = 1, GROUP_TAG = 2, PRINTED_TAG = 3 };

struct call {
    char collective[NAME_MAX_LENGTH];
    long long size;
    int ranks;
};

static int parse_call(const char *text, int world, struct call *call)
{
    const char *colon = strchr(text, ':');
    char *end;
    long long ranks = world;
    size_t length = colon ? (size_t)(colon - text) : 0;

    if (!colon || length == 0 || length >= sizeof call->collective)
        return -1;
    memcpy(call->collective, text, length);
    call->collective[length] = '\0';
    errno = 0;
    call->size = strtoll(colon + 1, &end, 10);
    if (errno || end == colon + 1 || call->size < 0)
        return -1;
    if (*end == ':') {
        const char *last = end + 1;
        ranks = strtoll(last, &end, 10);
        if (errno || end == last)
            return -1;
    }
    if (*end || ranks < 1 || ranks > world)
        return -1;
    call->ranks = (int)ranks;
    return 0;
}

static MPI_Comm first_ranks(int rank, int world, int ranks)
{
    MPI_Comm comm = MPI_COMM_NULL;
    MPI_Group all;
    MPI_Group some;
    int range[1][3] = {{0, ranks - 1, 1}};

    if (ranks == world)
        return MPI_COMM_WORLD;
    MPI_Comm_group(MPI_COMM_WORLD, &all);
    MPI_Group_range_incl(all, 1, range, &some);
    if (rank < ranks && MPI_Comm_create_group(MPI_COMM_WORLD, some, GROUP_TAG, &comm) != MPI_SUCCESS)
        comm = MPI_COMM_NULL;
    MPI_Group_free(&some);
    MPI_Group_free(&all);
    if (comm != MPI_COMM_NULL)
        MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN);
    return comm;
}

// Return the code that the call returned on all `ranks` ranks, or -1 if the codes differ. Only rank 0 gets this result.
static int agreed(int rank, int ranks, int code)
{
    int agreed = code;

    if (rank != 0) {
        MPI_Send(&code, 1, MPI_INT, 0, RESULT_TAG, MPI_COMM_WORLD);
        return code;
    }
    for (int from = 1; from < ranks; from++) {
        int other;
        MPI_Recv(&other, 1, MPI_INT, from, RESULT_TAG, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        if (other != code)
            agreed = -1;
    }
    return agreed;
}

// Wait on all `ranks` ranks until rank 0 has printed its result, because the next call may end the program. With MPICH,
// even a rank that does not wait for rank 0 in that call may end the program.
static void wait_until_printed(int rank, int ranks)
{
    int printed = 1;

    for (int to = 1; rank == 0 && to < ranks; to++)
        MPI_Send(&printed, 1, MPI_INT, to, PRINTED_TAG, MPI_COMM_WORLD);
    if (rank != 0)
        MPI_Recv(&printed, 1, MPI_INT, 0, PRINTED_TAG, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
}

static int probe(const struct call *call, int rank, int world)
{
    struct collective c;
    enum collective_status status;
    MPI_Comm comm;
    int code;

    if (rank >= call->ranks)
        return 0;
    comm = first_ranks(rank, world, call->ranks);
    if (comm == MPI_COMM_NULL) {
        fprintf(stderr, "reprise-rulesprobe: cannot create a communicator of %d ranks\n", call->ranks);
        MPI_Abort(MPI_COMM_WORLD, 1);
    }
    status = collective_open(&c, call->collective, (size_t)call->size, comm);
    if (status != COLLECTIVE_OK) {
        if (rank == 0)
            fprintf(stderr, "reprise-rulesprobe: %s: %s\n", call->collective, collective_message(status));
        return -1;
    }
    code = agreed(rank, call->ranks, collective_call(&c));
    collective_close(&c);
    if (rank == 0) {
        printf("{\"collective\": \"%s\", \"size\": %lld, \"ranks\": %d, \"rc\": %d}\n", call->collective, call->size,
               call->ranks, code);
        fflush(stdout);
    }
    wait_until_printed(rank, call->ranks);
    if (comm != MPI_COMM_WORLD)
        MPI_Comm_free(&comm);
    return 0;
}

int main(int argc, char **argv)
{
    int rank;
    int world;
    int status = 0;

    MPI_Init(&argc, &argv);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &world);
    if (argc < 2) {
        if (rank == 0)
            fprintf(stderr, "usage: reprise-rulesprobe COLLECTIVE:SIZE[:RANKS]...\n");
        status = 2;
    }
    for (int i = 1; i < argc && status == 0; i++) {
        struct call call;
        if (parse_call(argv[i], world, &call)) {
            if (rank == 0)
                fprintf(stderr,
                        "reprise-rulesprobe: %s: not of the form COLLECTIVE:SIZE[:RANKS] with RANKS from 1 "
                        "to %d\n",
                        argv[i], world);
            status = 2;
        } else if (probe(&call, rank, world)) {
            status = 2;
        }
    }
    MPI_Finalize();
    return status;
}
