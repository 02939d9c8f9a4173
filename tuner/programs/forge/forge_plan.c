// SPDX-License-Identifier: Apache-2.0
#include "forge_plan.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define SHOWN "%.120s" // part of an argument that a message shows

static const char *const operations[] = {"open", "write", "read", "close"};
static const char *const layouts[] = {"contiguous", "strided", "individual"}; // in the order of enum forge_layout

// Return the field before the next colon and move `rest` behind the colon; NULL if there is no colon.
static const char *field(const char **rest, size_t *length)
{
    const char *start = *rest, *colon = strchr(start, ':');
    if (!colon)
        return NULL;
    *length = (size_t)(colon - start);
    *rest = colon + 1;
    return start;
}

// Return the index of the field's word; -1 if it is not among the words.
static int word_of(const char **rest, const char *const *words, int count)
{
    size_t length;
    const char *start = field(rest, &length);
    for (int i = 0; start && i < count; i++)
        if (strlen(words[i]) == length && strncmp(words[i], start, length) == 0)
            return i;
    return -1;
}

// Convert a number that ends with `end`. Returns 0 if it is not a number from 1 to `most`.
static uint64_t number(const char *start, const char *end, uint64_t most)
{
    char *stop = NULL;
    if (start == end || *start < '0' || *start > '9')
        return 0;
    errno = 0;
    uint64_t value = strtoull(start, &stop, 10);
    return errno == 0 && stop == end && value <= most ? value : 0;
}

static uint64_t number_of(const char **rest, uint64_t most)
{
    size_t length;
    const char *start = field(rest, &length);
    return start ? number(start, start + length, most) : 0;
}

static int read_step(struct forge_step *step, const char *argument, char *error, size_t error_size)
{
    const char *rest = argument;
    int operation = word_of(&rest, operations, 4);
    int layout = operation < 0 ? -1 : word_of(&rest, layouts, 3);
    *step = (struct forge_step){.operation = (enum forge_operation)operation, .layout = (enum forge_layout)layout};
    if (layout < 0) {
        snprintf(error, error_size, SHOWN ": is not a step: write OPERATION:LAYOUT:PATH, see --help", argument);
        return -1;
    }
    if (step->operation == FORGE_WRITE || step->operation == FORGE_READ) {
        step->total = number_of(&rest, INT64_MAX);
        step->size = step->total ? number_of(&rest, FORGE_REQUEST_MAX) : 0;
        if (!step->size) {
            snprintf(error, error_size,
                     SHOWN ": has no valid sizes: write TOTAL:SIZE in bytes, with a SIZE of at most %llu", argument,
                     (unsigned long long)FORGE_REQUEST_MAX);
            return -1;
        }
    }
    step->path = rest;
    if (!*rest || strlen(rest) > FORGE_PATH_MAX) {
        snprintf(error, error_size, SHOWN ": has no valid path: write a path of at most %d bytes", argument,
                 FORGE_PATH_MAX);
        return -1;
    }
    return 0;
}

static int read_all(struct forge_plan *plan, size_t count, char *const *arguments, char *error, size_t error_size)
{
    for (size_t i = 0; i < count; i++) {
        const char *rest = arguments[i];
        if (strncmp(rest, "phase:", 6) == 0) {
            uint64_t repetitions = number(rest + 6, rest + strlen(rest), FORGE_REPETITIONS_MAX);
            if (!repetitions) {
                snprintf(error, error_size, SHOWN ": write a number of repetitions from 1 to %d", rest,
                         FORGE_REPETITIONS_MAX);
                return -1;
            }
            plan->phases[plan->phase_count++] =
                (struct forge_phase){.repetitions = repetitions, .first = plan->step_count, .end = plan->step_count};
            continue;
        }
        if (read_step(&plan->steps[plan->step_count], rest, error, error_size) < 0)
            return -1;
        if (plan->phase_count == 0)
            plan->phases[plan->phase_count++] = (struct forge_phase){.repetitions = 1};
        plan->phases[plan->phase_count - 1].end = ++plan->step_count;
    }
    if (plan->step_count == 0) {
        snprintf(error, error_size, "no steps: state at least one, see --help");
        return -1;
    }
    return 0;
}

int forge_plan_read(struct forge_plan *plan, size_t count, char *const *arguments, char *error, size_t error_size)
{
    *plan = (struct forge_plan){0};
    plan->steps = calloc(count + 1, sizeof *plan->steps);
    plan->phases = calloc(count + 1, sizeof *plan->phases);
    if (!plan->steps || !plan->phases)
        snprintf(error, error_size, "no memory for %zu steps", count);
    else if (read_all(plan, count, arguments, error, error_size) == 0)
        return 0;
    forge_plan_free(plan);
    return -1;
}

void forge_plan_free(struct forge_plan *plan)
{
    free(plan->steps);
    free(plan->phases);
    *plan = (struct forge_plan){0};
}
