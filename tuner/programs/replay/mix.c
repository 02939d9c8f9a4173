// SPDX-License-Identifier: Apache-2.0
#include "mix.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "mix_reader.h"

static const char *const names[MIX_KINDS] = {
    [MIX_SEND] = "send",
    [MIX_SSEND] = "ssend",
    [MIX_RECV] = "recv",
    [MIX_ISEND] = "isend",
    [MIX_ISSEND] = "issend",
    [MIX_IRECV] = "irecv",
    [MIX_SENDRECV] = "sendrecv",
    [MIX_WAIT] = "wait",
    [MIX_BARRIER] = "barrier",
    [MIX_BCAST] = "bcast",
    [MIX_REDUCE] = "reduce",
    [MIX_ALLREDUCE] = "allreduce",
    [MIX_SCAN] = "scan",
    [MIX_EXSCAN] = "exscan",
    [MIX_GATHER] = "gather",
    [MIX_SCATTER] = "scatter",
    [MIX_ALLGATHER] = "allgather",
    [MIX_ALLTOALL] = "alltoall",
    [MIX_REDUCE_SCATTER_BLOCK] = "reduce_scatter_block",
    [MIX_GATHERV] = "gatherv",
    [MIX_SCATTERV] = "scatterv",
    [MIX_ALLGATHERV] = "allgatherv",
    [MIX_ALLTOALLV] = "alltoallv",
    [MIX_REDUCE_SCATTER] = "reduce_scatter",
    [MIX_COMM_DUP] = "comm_dup",
    [MIX_COMM_SPLIT] = "comm_split",
    [MIX_COMM_CREATE] = "comm_create",
    [MIX_CART_CREATE] = "cart_create",
    [MIX_COMM_FREE] = "comm_free",
    [MIX_COMPUTE] = "compute",
};

const char *mix_kind_name(enum mix_kind kind)
{
    return names[kind];
}

static struct mix_step *new_step(struct mix_reader *r)
{
    struct mix *mix = r->mix;

    // The array is enlarged only when it is full, and then to the next power of two. It is therefore full if and only
    // if the count is 0 or a power of two.
    if ((mix->step_count & (mix->step_count - 1)) == 0) {
        size_t places = mix->step_count ? 2 * (size_t)mix->step_count : 1;
        struct mix_step *more = reallocarray(mix->steps, places, sizeof(*more));
        if (!more) {
            mix_fail(r, "not enough memory for %zu calls", places);
            return NULL;
        }
        mix->steps = more;
    }
    struct mix_step *step = &mix->steps[mix->step_count++];
    *step = (struct mix_step){.element = 1, .slot = -1, .made = -1, .color = -1, .kind = MIX_KINDS, .line = r->line};
    return step;
}

static int read_call(struct mix_reader *r, char *word, char **rest)
{
    if (!r->mix->comm_count)
        return mix_fail(r, "a call before the communicators");
    struct mix_step *step = new_step(r);
    if (!step)
        return -1;
    for (int kind = 0; kind < MIX_KINDS; kind++) {
        if (strcmp(word, names[kind]) == 0)
            step->kind = (enum mix_kind)kind;
        else if (kind >= MIX_BARRIER && kind < MIX_COMM_DUP && *word == 'i' && strcmp(word + 1, names[kind]) == 0) {
            step->kind = (enum mix_kind)kind;
            step->is_nonblocking = 1;
        }
    }
    if (step->kind == MIX_KINDS)
        return mix_fail(r, "unknown call \"%.40s\": this program reads version %d of mix files", word, MIX_VERSION);
    while ((word = strtok_r(NULL, " \n", rest)))
        if (mix_read_key(r, word, step) < 0)
            return -1;
    return mix_check_step(r, step);
}

static int read_loop(struct mix_reader *r, char **rest)
{
    const char *text = strtok_r(NULL, " \n", rest);
    int64_t count;
    struct mix_step *step;

    if (r->depth == MIX_DEPTH_MAX)
        return mix_fail(r, "more than %d nested loops", MIX_DEPTH_MAX);
    if (mix_whole_number(r, text ? text : "", 1, LONG_MAX, &count) < 0 || !(step = new_step(r)))
        return -1;
    step->type = MIX_LOOP;
    step->count = (long)count;
    r->open[r->depth++] = r->mix->step_count - 1;
    return 0;
}

static int read_end(struct mix_reader *r)
{
    struct mix_step *step;

    if (!r->depth)
        return mix_fail(r, "an end without a loop");
    if (!(step = new_step(r)))
        return -1;
    step->type = MIX_END;
    step->other = r->open[--r->depth];
    r->mix->steps[step->other].other = r->mix->step_count - 1;
    return 0;
}

// Read a line `comm INDEX MEMBERS`. The lines must be in the order of their indices.
static int read_comm(struct mix_reader *r, char **rest)
{
    struct mix *mix = r->mix;
    const char *index = strtok_r(NULL, " \n", rest);
    const char *text = strtok_r(NULL, " \n", rest);
    int64_t value;

    if (!index || !text || mix_whole_number(r, index, mix->comm_count, mix->comm_count, &value) < 0)
        return mix_fail(r, "communicator %d is missing", mix->comm_count);
    if (mix->comm_count == MIX_COMMS_MAX)
        return mix_fail(r, "more than %d communicators", MIX_COMMS_MAX);
    struct mix_comm *more = reallocarray(mix->comms, (size_t)mix->comm_count + 1, sizeof(*more));
    if (!more)
        return mix_fail(r, "no memory for communicators");
    mix->comms = more;
    struct mix_comm *comm = &mix->comms[mix->comm_count];
    *comm = (struct mix_comm){.members = calloc((size_t)mix->ranks, sizeof(int))};
    if (!comm->members)
        return mix_fail(r, "no memory for communicators");
    mix->comm_count++;
    for (char *end = (char *)text;; text = end + 1) { // for example 0-3,8
        int64_t first;
        int64_t last;
        if (mix_number(r, text, &end, 0, mix->ranks - 1, &first) < 0)
            return -1;
        last = first;
        if (*end == '-' && mix_number(r, end + 1, &end, first, mix->ranks - 1, &last) < 0)
            return -1;
        if (last - first >= mix->ranks - comm->size)
            return mix_fail(r, "a communicator has more than %d ranks", mix->ranks);
        for (; first <= last; first++)
            comm->members[comm->size++] = (int)first;
        if (*end != ',')
            return *end ? mix_fail(r, "\"%.40s\" is not a list of ranks", text) : 0;
    }
}

static int read_line(struct mix_reader *r, char *line, int ranks)
{
    char *rest = NULL;
    char *word;
    int64_t value;

    if (r->line > 1 && !r->is_own && strncmp(line, "rank", 4) != 0 && strncmp(line, "comm ", 5) != 0)
        return 0; // a line of another rank, or a comment
    word = strtok_r(line, " \n", &rest);
    if (!word || *word == '#')
        return 0;
    if (r->line == 1) {
        const char *version = strtok_r(NULL, " \n", &rest);
        if (strcmp(word, "reprise-mix") != 0 || !version)
            return mix_fail(r, "this is not a mix: record one with `reprise tune record`");
        return mix_whole_number(r, version, MIX_VERSION, MIX_VERSION, &value);
    }
    if (strcmp(word, "ranks") == 0) {
        const char *text = strtok_r(NULL, " \n", &rest);
        if (mix_whole_number(r, text ? text : "", 1, MIX_RANKS_MAX, &value) < 0)
            return -1;
        r->mix->ranks = (int)value;
        return value == ranks ? 0
                              : mix_fail(r, "recorded on %d ranks, but started on %d: start the recorded number",
                                         (int)value, ranks);
    }
    if (!r->mix->ranks)
        return mix_fail(r, "the number of ranks is missing");
    if (strcmp(word, "comm") == 0)
        return read_comm(r, &rest);
    if (strcmp(word, "rank") == 0) {
        const char *text = strtok_r(NULL, " \n", &rest);
        if (mix_whole_number(r, text ? text : "", 0, r->mix->ranks - 1, &value) < 0)
            return -1;
        r->is_own = value == r->rank;
        r->is_found |= r->is_own;
        return r->depth ? mix_fail(r, "a loop without an end") : 0;
    }
    if (strcmp(word, "loop") == 0)
        return read_loop(r, &rest);
    if (strcmp(word, "end") == 0)
        return read_end(r);
    return read_call(r, word, &rest);
}

int mix_open(struct mix *mix, const char *path, int rank, int ranks)
{
    struct mix_reader r = {.mix = mix, .path = path, .rank = rank};
    char *line = NULL;
    size_t size = 0;
    int status = 0;

    *mix = (struct mix){0};
    FILE *file = fopen(path, "re");
    if (!file)
        return mix_fail(&r, "cannot be read: %s", strerror(errno));
    while (status == 0 && getline(&line, &size, file) > 0) {
        r.line++;
        status = read_line(&r, line, ranks);
    }
    if (status == 0 && ferror(file))
        status = mix_fail(&r, "cannot be read: %s", strerror(errno));
    if (status == 0 && (!r.is_found || r.depth))
        status = mix_fail(&r, r.is_found ? "a loop without an end" : "the file ends before rank %d", rank);
    free(line);
    fclose(file);
    return status;
}

static void free_parts(struct mix_parts *parts)
{
    free(parts->bytes);
    free(parts->counts);
    free(parts->places);
}

void mix_close(struct mix *mix)
{
    for (int i = 0; i < mix->step_count; i++) {
        free(mix->steps[i].waited);
        free_parts(&mix->steps[i].sent);
        free_parts(&mix->steps[i].received);
    }
    for (int i = 0; i < mix->comm_count; i++)
        free(mix->comms[i].members);
    free(mix->steps);
    free(mix->comms);
    *mix = (struct mix){0};
}
