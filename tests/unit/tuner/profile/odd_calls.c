// SPDX-License-Identifier: Apache-2.0
// Correct programs that an MPI wrapper might break; the first argument selects one. Each must print the same with the
// witness as without it.
#include <mpi.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static int rank, ranks;

// Uses intercommunicators, which specify the root differently, and arguments that MPI ignores and that may have any
// value.
static void groups(void)
{
    int own = rank, all[2] = {0}, counts[2] = {1, 1}, places[2] = {0, 1}, sum = rank;
    int *nothing = (int *)8;
    const int odd = rank % 2;
    const int root = odd ? 0 : rank == 0 ? MPI_ROOT : MPI_PROC_NULL;
    MPI_Comm half, both, merged;

    MPI_Comm_split(MPI_COMM_WORLD, odd, rank, &half);
    MPI_Intercomm_create(half, 0, MPI_COMM_WORLD, 1 - odd, 5, &both);
    if (odd) {
        MPI_Gather(&own, 1, MPI_INT, NULL, 1, MPI_DATATYPE_NULL, root, both);
        MPI_Gatherv(&own, 1, MPI_INT, NULL, nothing, nothing, MPI_DATATYPE_NULL, root, both);
    } else {
        MPI_Gather(NULL, 7, MPI_DATATYPE_NULL, all, 1, root == MPI_ROOT ? MPI_INT : MPI_DATATYPE_NULL, root, both);
        MPI_Gatherv(NULL, 7, MPI_DATATYPE_NULL, all, root == MPI_ROOT ? counts : nothing, places, MPI_INT, root, both);
    }
    MPI_Intercomm_merge(both, odd, &merged);
    MPI_Allreduce(MPI_IN_PLACE, &sum, 1, MPI_INT, MPI_SUM, merged);
    printf("rank %d: %d %d, sum %d\n", rank, all[0], all[1], sum);
    MPI_Comm_free(&merged);
    MPI_Comm_free(&both);
    MPI_Comm_free(&half);
}

// Makes more communicators than the witness can record.
static void many(void)
{
    enum { MANY = 1100 };
    static MPI_Comm made[MANY];
    int parts[2] = {3, 4}, part = 0, all[2] = {0};
    MPI_Comm last;

    for (int i = 0; i < MANY; i++)
        MPI_Comm_dup(MPI_COMM_SELF, &made[i]);
    MPI_Comm_dup(MPI_COMM_WORLD, &last);
    if (rank == 0) {
        MPI_Scatter(parts, 1, MPI_INT, MPI_IN_PLACE, 1, MPI_DATATYPE_NULL, 0, last);
        MPI_Gather(MPI_IN_PLACE, 1, MPI_DATATYPE_NULL, all, 1, MPI_INT, 0, last);
    } else {
        MPI_Scatter(NULL, 1, MPI_DATATYPE_NULL, &part, 1, MPI_INT, 0, last);
        MPI_Gather(&part, 1, MPI_INT, NULL, 1, MPI_DATATYPE_NULL, 0, last);
    }
    printf("rank %d: %d, %d\n", rank, part, all[1]);
}

static int handled;

static void handle(MPI_Comm *comm, int *code, ...)
{
    (void)comm;
    (void)code;
    handled++;
}

static void abort_all(MPI_Comm *comm, int *code, ...)
{
    (void)code;
    MPI_Abort(*comm, 7);
}

// Makes erroneous calls. The program must see each error, and its handler must be called once.
static void errors(void)
{
    MPI_Errhandler handler;
    MPI_Comm own;
    int value = 0;

    MPI_Comm_create_errhandler(handle, &handler);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, handler);
    MPI_Bcast(&value, 1, MPI_DATATYPE_NULL, 0, MPI_COMM_WORLD);
    MPI_Neighbor_alltoall(&value, 1, MPI_INT, &value, 1, MPI_INT, MPI_COMM_NULL);
    MPI_Comm_dup(MPI_COMM_WORLD, &own);
    MPI_Comm_set_errhandler(own, MPI_ERRORS_RETURN);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_ARE_FATAL);
    printf("handled %d, %s\n", handled,
           MPI_Send(&value, 1, MPI_DATATYPE_NULL, 0, 0, own) == MPI_SUCCESS ? "sent" : "not sent");
}

// Calls MPI_Abort in an error handler, in a program with threads, while a wrapper may hold its lock.
static void aborts(void)
{
    MPI_Errhandler handler;
    int value = 0;

    MPI_Comm_create_errhandler(abort_all, &handler);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, handler);
    MPI_Bcast(&value, 1, MPI_DATATYPE_NULL, 0, MPI_COMM_WORLD);
}

// Makes matched receives, from any source and from MPI_PROC_NULL.
static void matched(void)
{
    MPI_Message message;
    MPI_Request request;
    MPI_Status status;
    int values[4] = {rank}, flag = 0, count;

    if (rank) {
        MPI_Send(values, 3, MPI_INT, 0, 8, MPI_COMM_WORLD);
        MPI_Send(values, 4, MPI_INT, 0, 9, MPI_COMM_WORLD);
        return;
    }
    MPI_Mprobe(MPI_PROC_NULL, 0, MPI_COMM_WORLD, &message, MPI_STATUS_IGNORE);
    MPI_Mrecv(values, 4, MPI_INT, &message, &status);
    MPI_Mprobe(MPI_ANY_SOURCE, 8, MPI_COMM_WORLD, &message, &status);
    MPI_Mrecv(values, 4, MPI_INT, &message, MPI_STATUS_IGNORE);
    MPI_Get_count(&status, MPI_INT, &count);
    printf("%d of %d from %d\n", values[0], count, status.MPI_SOURCE);
    while (!flag)
        MPI_Improbe(1, MPI_ANY_TAG, MPI_COMM_WORLD, &flag, &message, MPI_STATUS_IGNORE);
    MPI_Imrecv(values, 4, MPI_INT, &message, &request);
    MPI_Wait(&request, &status);
    printf("tag %d\n", status.MPI_TAG);
}

// Calls MPI_Test very often.
static void polls(void)
{
    MPI_Request request;
    int value = 0, flag = 0;

    MPI_Irecv(&value, 1, MPI_INT, rank, 1, MPI_COMM_WORLD, &request);
    for (int i = 0; i < 100000; i++)
        MPI_Test(&request, &flag, MPI_STATUS_IGNORE);
    MPI_Send(&rank, 1, MPI_INT, rank, 1, MPI_COMM_WORLD);
    while (!flag)
        MPI_Test(&request, &flag, MPI_STATUS_IGNORE);
}

// Makes sends that complete at once and share one request handle, and a receive that waits for the other rank.
static void shares(void)
{
    enum { MANY = 40, LARGE = 200 };
    static char sent[LARGE], got[LARGE];
    MPI_Request requests[MANY + 1];

    MPI_Irecv(got, 1, MPI_CHAR, 1 - rank, MANY, MPI_COMM_WORLD, &requests[MANY]);
    for (int i = 0; i < MANY; i++)
        MPI_Isend(sent, i ? LARGE : 1, MPI_CHAR, 1 - rank, i, MPI_COMM_WORLD, &requests[i]);
    if (rank)
        usleep(50000);
    MPI_Send(sent, 1, MPI_CHAR, 1 - rank, MANY, MPI_COMM_WORLD);
    MPI_Waitall(MANY + 1, requests, MPI_STATUSES_IGNORE);
    for (int i = 0; i < MANY; i++)
        MPI_Recv(got, LARGE, MPI_CHAR, 1 - rank, i, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
}

// Receives one message from any source, and then messages with other tags.
static void wildcards(void)
{
    int sent = rank, got;

    if (rank)
        MPI_Send(&sent, 1, MPI_INT, 0, 1, MPI_COMM_WORLD);
    else
        MPI_Recv(&got, 1, MPI_INT, MPI_ANY_SOURCE, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    for (int tag = 1; tag < 4; tag++) {
        for (int i = 0; i < 10; i++)
            MPI_Sendrecv(&sent, 1, MPI_INT, 1 - rank, tag, &got, 1, MPI_INT, 1 - rank, tag, MPI_COMM_WORLD,
                         MPI_STATUS_IGNORE);
    }
}

static void *exchange(void *tag)
{
    MPI_Request request;
    int sent = 1, got;

    for (int i = 0; i < 50; i++) {
        MPI_Isend(&sent, 1, MPI_INT, rank, *(int *)tag, MPI_COMM_WORLD, &request);
        MPI_Recv(&got, 1, MPI_INT, rank, *(int *)tag, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        MPI_Wait(&request, MPI_STATUS_IGNORE);
    }
    return NULL;
}

// Calls MPI from two threads at the same time.
static void threads(void)
{
    int tags[] = {1, 2};
    pthread_t other;

    pthread_create(&other, NULL, exchange, &tags[0]);
    exchange(&tags[1]);
    pthread_join(other, NULL);
}

int main(int argc, char **argv)
{
    const char *word = argc > 1 ? argv[1] : "";
    int level;

    const int is_alone = strcmp(word, "aborts") && strcmp(word, "threads");
    MPI_Init_thread(&argc, &argv, is_alone ? MPI_THREAD_SINGLE : MPI_THREAD_MULTIPLE, &level);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    if (strcmp(word, "groups") == 0)
        groups();
    else if (strcmp(word, "many") == 0)
        many();
    else if (strcmp(word, "errors") == 0)
        errors();
    else if (strcmp(word, "aborts") == 0)
        aborts();
    else if (strcmp(word, "matched") == 0)
        matched();
    else if (strcmp(word, "polls") == 0)
        polls();
    else if (strcmp(word, "threads") == 0)
        threads();
    else if (strcmp(word, "wildcards") == 0)
        wildcards();
    else if (strcmp(word, "shares") == 0)
        shares();
    MPI_Finalize();
    return 0;
}
