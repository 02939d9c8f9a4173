// SPDX-License-Identifier: Apache-2.0
// Arguments: THREADS ROUNDS. In each round, each thread allocates 512 small pieces, puts them into a table that all
// threads share, and frees the pieces that they replace, which usually another thread allocated. malloc and free take
// nearly all of the time. Prints the elapsed seconds.
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

enum { PIECES = 512, THREADS_MAX = 64 };
static _Atomic(void *) passed[THREADS_MAX][PIECES];
static int threads, rounds;

static void *work(void *number)
{
    const int own = (int)(size_t)number;
    unsigned int seed = (unsigned int)own;
    for (int round = 0; round < rounds; round++) {
        for (int i = 0; i < PIECES; i++) {
            const size_t size = 16 + (size_t)(rand_r(&seed) % 1024);
            char *piece = malloc(size);
            if (!piece)
                abort();
            piece[0] = piece[size - 1] = 1;
            free(atomic_exchange(&passed[(own + i + round) % threads][i], piece));
        }
    }
    return NULL;
}

int main(int argc, char **argv)
{
    pthread_t started[THREADS_MAX];
    struct timespec begin, end;
    threads = argc > 1 ? atoi(argv[1]) : 2;
    rounds = argc > 2 ? atoi(argv[2]) : 10;
    if (threads < 1 || threads > THREADS_MAX)
        return 2;
    clock_gettime(CLOCK_MONOTONIC, &begin);
    for (int i = 0; i < threads; i++) {
        if (pthread_create(&started[i], NULL, work, (void *)(size_t)i))
            return 1;
    }
    for (int i = 0; i < threads; i++)
        pthread_join(started[i], NULL);
    clock_gettime(CLOCK_MONOTONIC, &end);
    printf("%.3f\n", (double)(end.tv_sec - begin.tv_sec) + (double)(end.tv_nsec - begin.tv_nsec) / 1e9);
    return 0;
}
