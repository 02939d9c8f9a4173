// SPDX-License-Identifier: Apache-2.0
#include "mix_reader.h"

#include <errno.h>
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

int mix_fail(struct mix_reader *r, const char *format, ...)
{
    va_list arguments;
    int length = snprintf(r->mix->error, sizeof(r->mix->error), "%s:%ld: ", r->path, r->line);

    if (length < 0 || (size_t)length >= sizeof(r->mix->error))
        return -1;
    va_start(arguments, format);
    vsnprintf(r->mix->error + length, sizeof(r->mix->error) - (size_t)length, format, arguments);
    va_end(arguments);
    return -1;
}

int mix_number(struct mix_reader *r, const char *text, char **end, int64_t low, int64_t high, int64_t *value)
{
    errno = 0;
    long long parsed = strtoll(text, end, 10);
    if (errno || *end == text || parsed < low || parsed > high)
        return mix_fail(r, "\"%.40s\" is not a number from %lld to %lld", text, (long long)low, (long long)high);
    *value = parsed;
    return 0;
}

int mix_whole_number(struct mix_reader *r, const char *text, int64_t low, int64_t high, int64_t *value)
{
    char *end;

    if (mix_number(r, text, &end, low, high, value) < 0)
        return -1;
    return *end ? mix_fail(r, "\"%.40s\" is not a number", text) : 0;
}

int mix_list(struct mix_reader *r, const char *text, int64_t high, int64_t *values, int capacity)
{
    int count = 0;
    char *end = (char *)text;

    for (;; text = end + 1) {
        int64_t times = 1;
        int64_t value;
        if (mix_number(r, text, &end, 0, high, &value) < 0)
            return -1;
        if (*end == '*') {
            times = value;
            if (mix_number(r, end + 1, &end, 0, high, &value) < 0)
                return -1;
        }
        if (times > capacity - count)
            return mix_fail(r, "a list has more than %d values", capacity);
        while (times-- > 0)
            values[count++] = value;
        if (*end != ',')
            break;
    }
    return *end ? mix_fail(r, "\"%.40s\" is not a list", text) : count;
}

static int read_slots(struct mix_reader *r, const char *text, struct mix_step *step)
{
    int capacity = 1;
    for (const char *c = text; *c; c++)
        capacity += *c == ',';
    int64_t *values = calloc((size_t)capacity, sizeof(*values));
    step->waited = calloc((size_t)capacity, sizeof(*step->waited));
    if (!values || !step->waited) {
        free(values);
        return mix_fail(r, "not enough memory for %d requests", capacity);
    }
    step->waited_count = mix_list(r, text, MIX_SLOTS_MAX - 1, values, capacity);
    for (int i = 0; i < step->waited_count; i++)
        step->waited[i] = (int)values[i];
    free(values);
    return step->waited_count < 0 ? -1 : 0;
}

static int read_parts(struct mix_reader *r, const char *text, int comm, struct mix_parts *parts)
{
    int size = r->mix->comms[comm].size;

    if (parts->bytes)
        return mix_fail(r, "counts are specified twice");
    parts->bytes = calloc((size_t)size, sizeof(*parts->bytes));
    parts->counts = calloc((size_t)size, sizeof(*parts->counts));
    parts->places = calloc((size_t)size, sizeof(*parts->places));
    if (!parts->bytes || !parts->counts || !parts->places)
        return mix_fail(r, "not enough memory for %d counts", size);
    int count = mix_list(r, text, INT64_MAX, parts->bytes, size);
    return count < 0 ? -1 : count < size ? mix_fail(r, "there are %d counts for %d ranks", count, size) : 0;
}

// Compute the counts and displacements of parts from their bytes. The key `e` must have been read, because it gives the
// size of an element.
static int set_counts(struct mix_reader *r, struct mix_parts *parts, int size, int element)
{
    int64_t place = 0;

    for (int i = 0; parts->bytes && i < size; i++) {
        int64_t count = parts->bytes[i] / element;
        if (parts->bytes[i] % element || count > INT_MAX - place)
            return mix_fail(r, "%lld bytes are not a multiple of an element's size, or too many",
                            (long long)parts->bytes[i]);
        parts->counts[i] = (int)count;
        parts->places[i] = (int)place;
        place += count;
    }
    parts->total = place * element;
    return 0;
}

int mix_read_key(struct mix_reader *r, char *word, struct mix_step *step)
{
    char *text = word + 2;
    char *end;
    int64_t value = 0;
    int status = 0;

    if (!*word || word[1] != '=')
        return mix_fail(r, "\"%.40s\" is not of the form KEY=VALUE", word);
    switch (*word) {
    case 'c':
        if (step->sent.bytes || step->received.bytes)
            return mix_fail(r, "c= after counts: put c= first, because the communicator determines their number");
        status = mix_whole_number(r, text, 0, r->mix->comm_count - 1, &value);
        step->comm = (int)value;
        break;
    case 'p':
        status = mix_whole_number(r, text, -1, INT_MAX, &value);
        step->peer = (int)value;
        break;
    case 't':
        status = mix_whole_number(r, text, 0, INT_MAX, &value);
        step->tag = (int)value;
        break;
    case 'n':
        status = mix_whole_number(r, text, 0, INT64_MAX, &step->bytes);
        break;
    case 'e':
        status = mix_whole_number(r, text, 1, INT_MAX, &value);
        step->element = (int)value;
        break;
    case 'P':
        status = mix_whole_number(r, text, -1, INT_MAX, &value);
        step->source = (int)value;
        break;
    case 'T':
        status = mix_whole_number(r, text, 0, INT_MAX, &value);
        step->source_tag = (int)value;
        break;
    case 'N':
        status = mix_whole_number(r, text, 0, INT64_MAX, &step->source_bytes);
        break;
    case 'q':
        if (step->kind == MIX_WAIT)
            return read_slots(r, text, step);
        status = mix_whole_number(r, text, 0, MIX_SLOTS_MAX - 1, &value);
        step->slot = (int)value;
        break;
    case 'm':
        status = mix_whole_number(r, text, -1, r->mix->comm_count - 1, &value);
        step->made = (int)value;
        break;
    case 'o':
        status = mix_whole_number(r, text, -1, INT_MAX, &value);
        step->color = (int)value;
        break;
    case 'k':
        status = mix_whole_number(r, text, 0, INT_MAX, &value);
        step->key = (int)value;
        break;
    case 'u':
        status = mix_whole_number(r, text, 0, 1, &value);
        step->is_persistent = (int)value;
        break;
    case 'i':
        status = mix_whole_number(r, text, 0, 1, &value);
        step->in_place = (int)value;
        break;
    case 's':
        return read_parts(r, text, step->comm, &step->sent);
    case 'r':
        return read_parts(r, text, step->comm, &step->received);
    case 'g':
        step->gap_us = strtod(text, &end);
        if (end == text || *end || !(step->gap_us >= 0 && step->gap_us <= MIX_GAP_US_MAX))
            return mix_fail(r, "\"%.40s\" is not a time in microseconds", text);
        break;
    default:
        return mix_fail(r, "unknown key \"%c\": this program reads version %d of mix files", *word, MIX_VERSION);
    }
    return status;
}

static int is_member(const struct mix_comm *comm, int rank)
{
    for (int i = 0; i < comm->size; i++)
        if (comm->members[i] == rank)
            return 1;
    return 0;
}

int mix_check_step(struct mix_reader *r, struct mix_step *step)
{
    const struct mix_comm *comm = &r->mix->comms[step->comm];
    int starts = step->kind == MIX_ISEND || step->kind == MIX_ISSEND || step->kind == MIX_IRECV || step->is_nonblocking;

    if (!is_member(comm, r->rank))
        return mix_fail(r, "rank %d is not a member of communicator %d", r->rank, step->comm);
    if (step->made >= 0 && !is_member(&r->mix->comms[step->made], r->rank))
        return mix_fail(r, "rank %d is not a member of communicator %d", r->rank, step->made);
    if (step->made == 0 || (step->kind == MIX_COMM_FREE && step->comm == 0))
        return mix_fail(r, "communicator 0 is MPI_COMM_WORLD and can be neither created nor freed");
    if (step->peer >= comm->size || step->source >= comm->size)
        return mix_fail(r, "communicator %d has only %d ranks", step->comm, comm->size);
    if (starts != (step->slot >= 0))
        return mix_fail(r, starts ? "q= is missing for a call that starts a request"
                                  : "q= is not allowed for a call that starts no request");
    if (step->bytes % step->element || step->source_bytes % step->element || step->bytes / step->element > INT_MAX ||
        step->source_bytes / step->element > INT_MAX)
        return mix_fail(r, "%lld bytes are not a multiple of an element's size, or too many", (long long)step->bytes);
    if ((step->kind == MIX_ALLTOALLV && (!step->sent.bytes || !step->received.bytes)) ||
        ((step->kind == MIX_ALLGATHERV || step->kind == MIX_REDUCE_SCATTER) && !step->received.bytes))
        return mix_fail(r, "counts are missing for %s", mix_kind_name(step->kind));
    if (set_counts(r, &step->sent, comm->size, step->element) < 0)
        return -1;
    return set_counts(r, &step->received, comm->size, step->element);
}
