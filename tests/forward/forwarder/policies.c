// SPDX-License-Identifier: Apache-2.0
// Drives a policy of the scheduler with made-up clocks. Reads one command a line:
//   policy NAME SERVERS LAYOUT NUMBER WINDOW_US
//   server FILE OFFSET                     print the data server
//   add ID FILE OFFSET BYTES ARRIVED_NS
//   next MONOTONIC_NS WALL_NS              print the ID of the next request, or "wait" and the time to call again
//   withdraw ID
//   window WINDOW_US
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "scheduler.h"

#define REQUESTS 10000

static struct scheduled requests[REQUESTS];
static struct layout layout;
static const struct scheduler_policy *policy;
static void *own;

static int start(const char *words)
{
    static char rule[400];
    char name[20];
    char error[500];
    struct scheduler_options options = {.layout = &layout};
    if (sscanf(words, "%19s %u %399s %u %" SCNu32, name, &layout.servers, rule, &options.number, &options.window_us) !=
            5 ||
        layout_read(&layout, rule) || !(policy = scheduler_policy(name))) {
        return -1;
    }
    if (layout.map_path && !(layout.map = layout_map_read(layout.map_path, layout.servers, error, sizeof error))) {
        printf("%s\n", error);
    }
    own = policy->create(&options);
    return own ? 0 : -1;
}

static int print_server(const char *words)
{
    uint64_t file;
    uint64_t offset;
    if (sscanf(words, "%" SCNu64 " %" SCNu64, &file, &offset) != 2) {
        return -1;
    }
    printf("%u\n", layout_server(&layout, file, offset));
    return 0;
}

static int add(const char *words)
{
    unsigned id;
    struct scheduled new = {.job = "", .next = &requests[0], .previous = &requests[0], .child = &requests[0]};
    if (sscanf(words, "%u %" SCNu64 " %" SCNu64 " %" SCNu32 " %" SCNu64, &id, &new.file, &new.offset, &new.bytes,
               &new.arrived_ns) != 5 ||
        id >= REQUESTS) {
        return -1;
    }
    requests[id] = new;
    policy->enqueue(own, &requests[id]);
    return 0;
}

static int print_next(const char *words)
{
    struct instant now;
    uint64_t wake_ns = 0;
    if (sscanf(words, "%" SCNu64 " %" SCNu64, &now.monotonic_ns, &now.wall_ns) != 2) {
        return -1;
    }
    const struct scheduled *scheduled = policy->next(own, &now, &wake_ns);
    if (scheduled) {
        printf("%td\n", scheduled - requests);
    } else {
        printf("wait %" PRIu64 "\n", wake_ns);
    }
    return 0;
}

static int withdraw(const char *words)
{
    const unsigned long id = strtoul(words, NULL, 10);
    if (id >= REQUESTS) {
        return -1;
    }
    policy->withdraw(own, &requests[id]);
    return 0;
}

static int change_window(const char *words)
{
    policy->set_window(own, (uint32_t)strtoul(words, NULL, 10));
    return 0;
}

int main(void)
{
    static const struct {
        const char *name;
        int (*play)(const char *words);
    } commands[] = {{"policy ", start},    {"server ", print_server}, {"add ", add},
                    {"next ", print_next}, {"withdraw ", withdraw},   {"window ", change_window}};
    char line[200];
    while (fgets(line, sizeof line, stdin)) {
        int failed = -1;
        for (size_t i = 0; i < sizeof commands / sizeof *commands; i++) {
            const size_t length = strlen(commands[i].name);
            if (!strncmp(line, commands[i].name, length)) {
                failed = commands[i].play(line + length);
            }
        }
        if (failed) {
            fprintf(stderr, "cannot play: %s", line);
            return EXIT_FAILURE;
        }
    }
    if (own) {
        policy->destroy(own);
    }
    layout_map_free(layout.map);
    return EXIT_SUCCESS;
}
