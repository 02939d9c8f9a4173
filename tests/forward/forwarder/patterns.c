// SPDX-License-Identifier: Apache-2.0
// Drives the counting of access patterns with made-up clocks. Reads one command a line; times are nanoseconds of the
// monotonic clock:
//   start NOW WINDOW_US
//   clock WALL_AT_0                           set the wall clock
//   arrived JOB OPERATION FILE OFFSET BYTES NOW
//   served JOB OPERATION BYTES NOW            operation 0 reads, 1 writes
//   window WINDOW_US NOW
//   json NOW                                  print patterns as the command `patterns` does
//   metrics NOW                               print them for Prometheus
//   time COUNT FILES JOBS                     print the nanoseconds that a request takes
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "metrics.h"

#define WORDS_MAX 6

static struct metrics metrics;
static uint64_t wall_at_0;
static uint64_t now_ns;

static uint64_t wall(void)
{
    return wall_at_0 + now_ns;
}

static struct job *job_of(uint64_t number)
{
    char name[40];
    snprintf(name, sizeof name, "job-%" PRIu64, number);
    return metrics_job(&metrics, name);
}

static void arrived(const uint64_t *words)
{
    struct job *job = job_of(words[0]);
    const struct access access = {.owner = job->number * OPERATIONS + words[1],
                                  .file = words[2],
                                  .offset = words[3],
                                  .bytes = (uint32_t)words[4]};
    now_ns = words[5];
    patterns_arrived(&metrics.patterns, &job->patterns[words[1]], &access, now_ns);
}

static void served(const uint64_t *words)
{
    now_ns = words[3];
    patterns_served(&metrics.patterns, &job_of(words[0])->patterns[words[1]], words[2], now_ns);
}

static void start(const uint64_t *words)
{
    now_ns = words[0];
    patterns_start(&metrics.patterns, wall, now_ns, (uint32_t)words[1]);
}

static void set_clock(const uint64_t *words)
{
    wall_at_0 = words[0];
}

static void set_window(const uint64_t *words)
{
    now_ns = words[1];
    patterns_set_window(&metrics, (uint32_t)words[0], now_ns);
}

static void print_json(const uint64_t *words)
{
    now_ns = words[0];
    patterns_advance(&metrics.patterns, now_ns);
    patterns_print_json(&metrics, stdout);
}

static void print_metrics(const uint64_t *words)
{
    now_ns = words[0];
    patterns_advance(&metrics.patterns, now_ns);
    patterns_print(&metrics, stdout);
    printf("replaced %" PRIu64 "\n", metrics.patterns.replaced);
}

static void let_in(const uint64_t *words)
{
    metrics_let_in(job_of(words[0]), (uint32_t)words[1]);
    printf("%" PRIu32 "\n", job_of(words[0])->user);
}

static uint64_t elapsed_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
    return (uint64_t)now.tv_sec * 1000000000U + (uint64_t)now.tv_nsec;
}

static void time_requests(const uint64_t *words)
{
    struct job *jobs[JOBS_MAX];
    for (uint64_t i = 0; i < words[2]; i++) {
        jobs[i] = job_of(i);
    }
    const uint64_t begun_ns = elapsed_ns();
    for (uint64_t i = 0; i < words[0]; i++) {
        struct job *job = jobs[i % words[2]];
        struct pattern *pattern = &job->patterns[i & 1];
        const struct access access = {.owner = job->number * OPERATIONS + (i & 1),
                                      .file = i * 7919 % words[1],
                                      .offset = i * 4096,
                                      .bytes = 4096};
        now_ns += 5000;
        patterns_arrived(&metrics.patterns, pattern, &access, now_ns);
        patterns_served(&metrics.patterns, pattern, 4096, now_ns);
    }
    printf("%.1f\n", (double)(elapsed_ns() - begun_ns) / (double)words[0]);
}

int main(void)
{
    static const struct {
        const char *name;
        int words;
        void (*play)(const uint64_t *words);
    } commands[] = {{"start", 2, start},           {"clock", 1, set_clock},    {"arrived", 6, arrived},
                    {"served", 4, served},         {"window", 2, set_window},  {"json", 1, print_json},
                    {"metrics", 1, print_metrics}, {"time", 3, time_requests}, {"let-in", 2, let_in}};
    char line[200];
    while (fgets(line, sizeof line, stdin)) {
        char name[20] = "";
        uint64_t words[WORDS_MAX] = {0};
        const int count = sscanf(line, "%19s %" SCNu64 " %" SCNu64 " %" SCNu64 " %" SCNu64 " %" SCNu64 " %" SCNu64,
                                 name, &words[0], &words[1], &words[2], &words[3], &words[4], &words[5]);
        bool is_played = false;
        for (size_t i = 0; i < sizeof commands / sizeof *commands; i++) {
            if (!strcmp(name, commands[i].name) && count == commands[i].words + 1) {
                commands[i].play(words);
                is_played = true;
            }
        }
        if (!is_played) {
            fprintf(stderr, "cannot play: %s", line);
            return EXIT_FAILURE;
        }
    }
    return EXIT_SUCCESS;
}
