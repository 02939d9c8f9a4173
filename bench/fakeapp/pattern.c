// SPDX-License-Identifier: Apache-2.0
#include "pattern.h"

#include <stddef.h>

#include "draw.h"

enum {
    KIB = 1024,
    MIB = 1024 * KIB,
};

// The three streams of random numbers that each lead has.
enum {
    SCATTER,
    READS,
    PLACE, // two numbers for each read, one for its size and one for its offset
    STREAMS,
};

// The named patterns. b, c and d follow Robert 2021, table 4.4, scaled down to take seconds instead of minutes. b and c
// have a 25th of the reads in the table, and d has half of them. The zones have a fifth (b), a tenth (c) and a 25th (d)
// of the width in the table. Compared with the table, the number of reads per byte is therefore the same in b, less
// than half in c, and larger in d. Pattern a reads a matrix of 64 rows column by column; Robert 2021 has no numbers for
// this pattern.
static const struct {
    char name;
    struct pattern pattern;
} NAMED[] = {
    {'a', {.operations = 20000, .leads = 64, .advance = 16 * KIB, .repeat = 1, .threads = 1}},
    {'b', {.operations = 20000, .scatter = 10 * MIB, .leads = 4, .advance = 2 * MIB, .repeat = 200, .threads = 4}},
    {'c', {.operations = 20000, .scatter = 1 * MIB, .leads = 220, .repeat = 1, .threads = 1}},
    {'d', {.leads = 100, .scatter_interval = {50 * KIB, 20 * MIB}, .repeat_interval = {50, 250}, .threads = 1}},
};
static const uint64_t SIZE = 4 * KIB; // size of every read in these patterns

int pattern_named(const char *name, struct pattern *pattern)
{
    for (size_t i = 0; i < sizeof(NAMED) / sizeof(*NAMED); i++) {
        if (name[0] != NAMED[i].name || name[1])
            continue;
        *pattern = NAMED[i].pattern;
        pattern->min_size = SIZE;
        pattern->max_size = SIZE;
        return 0;
    }
    return -1;
}

static uint64_t drawn(const struct walk *walk, uint64_t lead, int stream, uint64_t index, struct range from)
{
    return from.low + draw_bits(walk->seed, lead * STREAMS + (uint64_t)stream, index) % (from.high - from.low + 1);
}

static uint64_t reads_of(const struct walk *walk, uint64_t visit)
{
    const struct pattern *p = walk->pattern;

    if (p->repeat_interval.high)
        return visit < p->leads ? drawn(walk, visit, READS, 0, p->repeat_interval) : 0;
    uint64_t before = visit * p->repeat;
    if (before >= p->operations)
        return 0;
    return p->operations - before < p->repeat ? p->operations - before : p->repeat;
}

static uint64_t place(const struct walk *walk, uint64_t lead, uint64_t pass, uint64_t size, uint64_t draw)
{
    const struct pattern *p = walk->pattern;
    uint64_t chunk = walk->file_size / p->leads;
    uint64_t scatter = p->scatter;

    if (p->scatter_interval.high)
        scatter = drawn(walk, lead, SCATTER, 0, p->scatter_interval);
    uint64_t room = walk->file_size - size + 1;
    uint64_t offset = (lead * chunk + chunk / 2 + pass * p->advance) % room;
    if (scatter) // half of the width lies before the lead; offsets wrap around at both ends of the file
        offset = (offset + room - scatter / 2 % room + draw % scatter) % room;
    return offset / p->min_size * p->min_size; // round down to a multiple of the smallest size
}

int walk_next(struct walk *walk, struct operation *operation)
{
    const struct pattern *p = walk->pattern;
    uint64_t count;

    while (walk->read >= (count = reads_of(walk, walk->visit)) ||
           walk->visit % p->leads % walk->workers != walk->worker) {
        if (!count)
            return 0;
        walk->visit++;
        walk->read = 0;
    }
    uint64_t lead = walk->visit % p->leads;
    uint64_t pass = walk->visit / p->leads;
    uint64_t index = (pass * (p->repeat ? p->repeat : 1) + walk->read++) * 2;
    operation->lead = lead;
    operation->size = drawn(walk, lead, PLACE, index, (struct range){p->min_size, p->max_size});
    operation->offset =
        place(walk, lead, pass, operation->size, draw_bits(walk->seed, lead * STREAMS + PLACE, index + 1));
    return 1;
}
