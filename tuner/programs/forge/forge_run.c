// SPDX-License-Identifier: Apache-2.0
#include "forge_run.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define ALIGNMENT 4096 // of the buffer; O_DIRECT needs the file system's block size, which is at most a page

struct run {
    const struct forge_settings *settings;
    struct forge_result *result;
    struct forge_target *targets;
    size_t target_count;
    unsigned char *buffer;
    uint64_t number;
    uint32_t rank;
    uint32_t ranks;
    char *error;
};

// Agree on whether all ranks succeeded so far. Only the first rank that failed keeps its error.
static int agree(struct run *run)
{
    const int own = *run->error ? (int)run->rank : (int)run->ranks;
    int first = own;
    MPI_Allreduce(&own, &first, 1, MPI_INT, MPI_MIN, MPI_COMM_WORLD);
    if (first == (int)run->ranks)
        return 0;
    if (first != (int)run->rank)
        *run->error = '\0';
    return -1;
}

// Return the target of a step. The array has room for one target per step, so that it never moves.
static struct forge_target *target_of(struct run *run, const struct forge_step *step)
{
    const bool is_individual = step->layout == FORGE_INDIVIDUAL;
    for (size_t i = 0; i < run->target_count; i++) {
        struct forge_target *target = &run->targets[i];
        if (target->is_individual == is_individual && strcmp(target->path, step->path) == 0)
            return target;
    }
    struct forge_target *target = &run->targets[run->target_count++];
    forge_target_set(target, step->path, is_individual, run->number, run->rank);
    return target;
}

static int open_step(struct run *run, struct forge_target *target)
{
    const bool is_direct = run->settings->is_direct;
    if (target->fd >= 0) {
        snprintf(run->error, FORGE_ERROR_BYTES, "%s: is opened twice: add a close step before", target->path);
        return agree(run);
    }
    if (target->is_individual) {
        forge_target_open(target, !target->is_created, is_direct, run->error);
        return agree(run);
    }
    if (run->rank == 0)
        forge_target_open(target, !target->is_created, is_direct, run->error);
    if (agree(run) < 0)
        return -1;
    if (run->rank != 0)
        forge_target_open(target, false, is_direct, run->error);
    return agree(run);
}

// Add a step's times and bytes to the result.
static void count(struct run *run, const struct forge_move *move)
{
    struct forge_result *result = run->result;
    double slowest = 0;
    uint64_t bytes = 0;
    int stopped = move->is_stopped, any = 0;
    MPI_Allreduce(&move->seconds, &slowest, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
    MPI_Allreduce(&move->bytes, &bytes, 1, MPI_UINT64_T, MPI_SUM, MPI_COMM_WORLD);
    MPI_Allreduce(&stopped, &any, 1, MPI_INT, MPI_MAX, MPI_COMM_WORLD);
    *(move->is_write ? &result->write_s : &result->read_s) += slowest;
    *(move->is_write ? &result->write_bytes : &result->read_bytes) += bytes;
    result->is_stopped |= any != 0;
}

static int move_all(struct run *run, struct forge_target *target, struct forge_move *move)
{
    MPI_Barrier(MPI_COMM_WORLD);
    if (forge_target_move(target, move, run->error) < 0 && !*run->error)
        snprintf(run->error, FORGE_ERROR_BYTES, "%s: failed", target->name);
    return agree(run);
}

static bool is_same(const struct forge_pattern *one, const struct forge_pattern *other)
{
    return one->layout == other->layout && one->size == other->size && one->count == other->count;
}

static int move_step(struct run *run, const struct forge_step *step, struct forge_target *target)
{
    const bool is_write = step->operation == FORGE_WRITE;
    struct forge_move move = {
        .client = run->rank, .is_validated = run->settings->is_validated, .most = UINT64_MAX, .buffer = run->buffer};
    if (forge_pattern_set(&move.pattern, step->layout, run->ranks, step->total, step->size) < 0)
        snprintf(run->error, FORGE_ERROR_BYTES,
                 "%s: total_size is less than one request of each client: use at least %llu bytes", step->path,
                 (unsigned long long)step->size * run->ranks);
    else if (target->fd < 0)
        snprintf(run->error, FORGE_ERROR_BYTES, "%s: is not open: add an open step before", step->path);
    if (agree(run) < 0)
        return -1;
    if (!is_write) // a stone wall and pauses may keep it from reading everything
        move.most = forge_most_requests(run->settings->stone_wall_s, run->settings->pause_s);
    if (!is_write && !is_same(&target->written, &move.pattern)) { // not measured: the read needs data of this run
        move.is_write = true;
        if (move_all(run, target, &move) < 0)
            return -1;
        target->written = move.pattern;
    }
    if (!is_write)
        forge_target_forget(target);
    move.is_write = is_write;
    move.pause_s = run->settings->pause_s;
    move.stone_wall_s = run->settings->stone_wall_s;
    if (move_all(run, target, &move) < 0)
        return -1;
    count(run, &move);
    if (is_write)
        target->written = run->result->is_stopped ? (struct forge_pattern){0} : move.pattern;
    return 0;
}

static int take(struct run *run, const struct forge_step *step)
{
    struct forge_target *target = target_of(run, step);
    switch (step->operation) {
    case FORGE_OPEN:
        return open_step(run, target);
    case FORGE_CLOSE:
        forge_target_close(target, run->error);
        return agree(run);
    case FORGE_WRITE:
    case FORGE_READ:
        break;
    }
    return move_step(run, step, target);
}

static int take_all(struct run *run, const struct forge_plan *plan)
{
    for (size_t i = 0; i < plan->phase_count; i++) {
        const struct forge_phase *phase = &plan->phases[i];
        for (uint64_t repetition = 0; repetition < phase->repetitions; repetition++)
            for (size_t step = phase->first; step < phase->end; step++)
                if (take(run, &plan->steps[step]) < 0)
                    return -1;
    }
    return 0;
}

static void prepare(struct run *run, const struct forge_plan *plan)
{
    uint64_t largest = 1;
    void *buffer = NULL;
    for (size_t i = 0; i < plan->step_count; i++)
        largest = plan->steps[i].size > largest ? plan->steps[i].size : largest;
    run->targets = calloc(plan->step_count, sizeof *run->targets);
    if (!run->targets || posix_memalign(&buffer, ALIGNMENT, largest) != 0)
        snprintf(run->error, FORGE_ERROR_BYTES, "no memory for requests of %llu bytes: use a smaller request_size",
                 (unsigned long long)largest);
    run->buffer = buffer;
}

// Return a number that differs between runs. Files of the same name are refused in any case.
static uint64_t new_number(void)
{
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    return (uint64_t)now.tv_sec * 1000000000U + (uint64_t)now.tv_nsec + ((uint64_t)getpid() << 32);
}

int forge_run(const struct forge_plan *plan, const struct forge_settings *settings, struct forge_result *result,
              char error[FORGE_ERROR_BYTES])
{
    struct run run = {.settings = settings, .result = result, .number = new_number(), .error = error};
    int rank, ranks;

    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    run.rank = (uint32_t)rank;
    run.ranks = (uint32_t)ranks;
    MPI_Bcast(&run.number, 1, MPI_UINT64_T, 0, MPI_COMM_WORLD);
    *error = '\0';
    *result = (struct forge_result){0};
    prepare(&run, plan);
    int status = agree(&run);
    if (status == 0)
        status = take_all(&run, plan);
    MPI_Barrier(MPI_COMM_WORLD); // no rank removes a file that another one still uses
    for (size_t i = 0; i < run.target_count; i++)
        forge_target_remove(&run.targets[i]);
    free(run.targets);
    free(run.buffer);
    return status;
}
