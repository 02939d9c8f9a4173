// SPDX-License-Identifier: Apache-2.0
// A tuner plugin for tests, which reads plain tuner files through NCCL's interface. INITIAL is the number of channels
// with which it begins; with CRASH, it uses the costs as pointers, as early plugins do; with V4, it has version 4 of
// the interface; with LAST, the last matching line decides.
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#ifndef INITIAL
#define INITIAL 0
#endif

struct shape {
    long nodes, ranks;
};

static int number_of(const char *const *names, const char *name)
{
    for (int i = 0; names[i]; i++) {
        if (strcmp(names[i], name) == 0) {
            return i;
        }
    }
    return -1;
}

static int start(void **context, size_t nodes, size_t ranks)
{
    struct shape *shape = malloc(sizeof *shape);
    *shape = (struct shape){(long)nodes, (long)ranks};
    *context = shape;
    return 0;
}

static int get_coll_info(void *context, int collective, size_t size, int operations, float **costs, int algorithms,
                         int protocols, int registered, int *channels)
{
    static const char *const collectives[] = {"broadcast", "reduce", "allgather", "reducescatter", "allreduce", NULL};
    static const char *const names[] = {"tree", "ring", "collnet_direct", "collnet_chain", "nvls", "nvls_tree",
                                        "pat",  NULL};
    static const char *const kinds[] = {"ll", "ll128", "simple", NULL};
    const struct shape *shape = context;
    char line[256], call[16], algorithm[16], protocol[16];
    unsigned long low, high;
    long count, nodes, ranks, group, buffers;
    FILE *file = fopen(getenv("NCCL_TUNER_CONFIG_FILE"), "r");
    float *table = (float *)costs;
    *channels = INITIAL;
    while (file && fgets(line, sizeof line, file)) {
        if (sscanf(line, "%15[^,],%lu,%lu,%15[^,],%15[^,],%ld,%ld,%ld,%ld,%ld", call, &low, &high, algorithm, protocol,
                   &count, &nodes, &ranks, &group, &buffers) != 10 ||
            number_of(collectives, call) != collective || size < low || size > high ||
            (nodes != -1 && nodes != shape->nodes) || (ranks != -1 && ranks != shape->ranks) ||
            (group != -1 && group != operations) || (buffers != -1 && buffers != registered)) {
            continue;
        }
        int cell = number_of(names, algorithm) * protocols + number_of(kinds, protocol);
#ifdef CRASH
        costs[number_of(names, algorithm)][number_of(kinds, protocol)] = 0;
#endif
        if (cell >= 0 && cell < algorithms * protocols && table[cell] != -1.0F) {
#ifdef LAST
            for (int i = 0; i < algorithms * protocols; i++) {
                table[i] = table[i] == 0 ? 1 : table[i];
            }
#endif
            table[cell] = 0;
            *channels = count == -1 ? *channels : (int)count;
#ifndef LAST
            break;
#endif
        }
    }
    if (file) {
        fclose(file);
    }
    return 0;
}

#ifdef V4
static int init(size_t ranks, size_t nodes, void *log, void **context)
{
    (void)log;
    return start(context, nodes, ranks);
}
#define TABLE ncclTunerPlugin_v4
#else
static int init(void **context, uint64_t communicator, size_t ranks, size_t nodes, void *log, void *domains,
                void *constants)
{
    (void)communicator;
    (void)log;
    (void)domains;
    (void)constants;
    return start(context, nodes, ranks);
}
#define TABLE ncclTunerPlugin_v5
#endif

static int finalize(void *context)
{
    free(context);
    return 0;
}

const struct {
    const char *name;
    void *init, *get_coll_info, *finalize;
} TABLE = {"test", init, get_coll_info, finalize};
