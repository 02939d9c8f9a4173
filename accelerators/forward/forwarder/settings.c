// SPDX-License-Identifier: Apache-2.0
#include "settings.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "limits.h"
#include "scheduler.h"

#define MODES "off|ram|flash"
#define NUMBER_MAX (1LL << 50)

static const struct option {
    const char *name;
    const char *choices; // words separated by "|", whose position is the value; NULL: a text or a number
    bool is_text;
    int64_t otherwise;
    int64_t least;
    int64_t most;
    size_t offset;
    const char *help;
} options[] = {
    {"listen", NULL, true, 0, 0, 0, offsetof(struct settings, listen), "HOST:PORT or socket path to accept clients on"},
    {"diod", NULL, true, 0, 0, 0, offsetof(struct settings, diod), "HOST:PORT or socket path of diod"},
    {"metrics", NULL, true, 0, 0, 0, offsetof(struct settings, metrics), "HOST:PORT that serves metrics over HTTP"},
    {"control", NULL, true, 0, 0, 0, offsetof(struct settings, control), "socket path for commands"},
    {"job", NULL, true, 0, 0, 0, offsetof(struct settings, job), "job's name in the metrics"},
    {"scheduler", NULL, true, 0, 0, 0, offsetof(struct settings, scheduler),
     "policy of the order of requests: " SCHEDULER_POLICIES},
    {"servers", NULL, false, 1, 1, SERVERS_MAX, offsetof(struct settings, servers), "data servers of the file system"},
    {"layout", NULL, true, 0, 0, 0, offsetof(struct settings, layout),
     "which data server has which bytes: file, stripe:BYTES or map:FILE"},
    {"number", NULL, false, 0, 0, NUMBER_OF_FORWARDER_MAX, offsetof(struct settings, number),
     "this forwarder's number, different for each one of the file system"},
    {"window", NULL, false, 1000, 0, WINDOW_US_MAX, offsetof(struct settings, window),
     "microseconds of each data server's turn; 0: order of arrival"},
    {"council", NULL, true, 0, 0, 0, offsetof(struct settings, council),
     "HOST:PORT or socket path of the council that chooses windows"},
    {"council-auth", "munge|none", false, 0, 0, 1, offsetof(struct settings, council_auth),
     "how the council and this forwarder recognize each other"},
    {"council-uid", NULL, false, 0, 0, UINT32_MAX - 1, offsetof(struct settings, council_uid),
     "user ID of the council; root is always believed"},
    {"workers", NULL, false, 16, 1, THREADS_MAX, offsetof(struct settings, workers),
     "reads and writes at diod at a time"},
    {"write-back", MODES, false, 0, 0, 2, offsetof(struct settings, write_back),
     "when a write is acknowledged: off, in the file system"},
    {"exports", NULL, true, 0, 0, 0, offsetof(struct settings, exports),
     "exports with write-back, separated by commas"},
    {"close", "return|wait", false, 0, 0, 1, offsetof(struct settings, close_waits), "whether close waits like fsync"},
    {"ram-bytes", NULL, false, 256 << 20, 0, NUMBER_MAX, offsetof(struct settings, ram_bytes), "size of the RAM cache"},
    {"flash", NULL, true, 0, 0, 0, offsetof(struct settings, flash), "directory of the flash cache"},
    {"flash-bytes", NULL, false, 1LL << 30, FLASH_BYTES_MIN, NUMBER_MAX, offsetof(struct settings, flash_bytes),
     "size of the flash cache"},
    {"flash-sync", "no|yes", false, 0, 0, 1, offsetof(struct settings, flash_sync),
     "whether writes to flash wait for the device"},
    {"ram-destagers", NULL, false, 2, 1, THREADS_MAX, offsetof(struct settings, ram_destagers),
     "threads from RAM to flash"},
    {"flash-destagers", NULL, false, 4, 1, THREADS_MAX, offsetof(struct settings, flash_destagers),
     "delayed writes at diod at a time"},
    {"ram-threshold", NULL, false, 50, 0, 100, offsetof(struct settings, ram_threshold),
     "percent of RAM in use from which data leave it"},
    {"flash-threshold", NULL, false, 50, 0, 100, offsetof(struct settings, flash_threshold),
     "percent of flash in use from which data leave it"},
    {"destage-after", NULL, false, 1000, 0, 86400000, offsetof(struct settings, destage_after),
     "milliseconds after which data go to the file system"},
    {"bursts", NULL, true, 0, 0, 0, offsetof(struct settings, bursts), "directory of jobs' burst buffers"},
    {"burst-flash", NULL, true, 0, 0, 0, offsetof(struct settings, burst_flash),
     "directory of the flash caches of burst buffers"},
    {"burst-auth", "munge|none", false, 0, 0, 1, offsetof(struct settings, burst_auth),
     "how clients prove whose burst buffer they ask for"},
    {"burst-uid", NULL, false, 0, 0, UINT32_MAX - 1, offsetof(struct settings, burst_uid),
     "user ID that may drain all burst buffers, besides root"},
    {"burst-jobs", NULL, false, 64, 0, 4096, offsetof(struct settings, burst_jobs),
     "most burst buffers at a time; one user can have half of them"},
    {"burst-ram-bytes", NULL, false, 1LL << 30, 0, NUMBER_MAX, offsetof(struct settings, burst_ram_bytes),
     "largest RAM cache that a job may choose"},
    {"burst-flash-bytes", NULL, false, 4LL << 30, 0, NUMBER_MAX, offsetof(struct settings, burst_flash_bytes),
     "largest flash cache that a job may choose"},
    {"linger", NULL, false, 60, 1, 86400, offsetof(struct settings, linger),
     "seconds after which a burst buffer that no job uses ends"},
    {"hand-over", NULL, true, 0, 0, 0, offsetof(struct settings, hand_over),
     "directory of a burst buffer, set by the forwarder that starts it"},
};

#define OPTIONS (sizeof options / sizeof *options)

// Store the position of a word among choices. Return 0; -1 if it is not one of them.
static int choose(const char *choices, const char *value, int64_t *number)
{
    const char *word = choices;
    for (int64_t i = 0;; i++) {
        const size_t length = strcspn(word, "|");
        if (strlen(value) == length && !memcmp(word, value, length)) {
            *number = i;
            return 0;
        }
        if (!word[length]) {
            return -1;
        }
        word += length + 1;
    }
}

int settings_mode(const char *text, int64_t *mode)
{
    return choose(MODES, text, mode);
}

// Read a number that an option may have. Return 0; -1 if it is none.
static int read_number(const struct option *option, const char *text, int64_t *number)
{
    char *end;
    errno = 0;
    *number = strtoll(text, &end, 10);
    return *text < '0' || *text > '9' || *end || errno || *number < option->least || *number > option->most ? -1 : 0;
}

static bool is_window(int64_t us)
{
    return us == 0 || us >= WINDOW_US_MIN;
}

int settings_window(const char *text, uint32_t *window_us)
{
    static const struct option window = {.most = WINDOW_US_MAX};
    int64_t number;
    if (read_number(&window, text, &number) || !is_window(number)) {
        return -1;
    }
    *window_us = (uint32_t)number;
    return 0;
}

static int set(struct settings *settings, const char *name, size_t name_bytes, const char *value, char *error,
               size_t room)
{
    for (size_t i = 0; i < OPTIONS; i++) {
        const struct option *option = &options[i];
        if (strlen(option->name) != name_bytes || memcmp(option->name, name, name_bytes) != 0) {
            continue;
        }
        void *place = (char *)settings + option->offset;
        int64_t number;
        if (option->is_text) {
            if (!*value) {
                snprintf(error, room, "%s has no value: use %s", option->name, option->help);
                return -1;
            }
            const char *kept = strdup(value);
            if (!kept) {
                snprintf(error, room, "there is no memory");
                return -1;
            }
            char *before;
            memcpy(&before, place, sizeof before);
            free(before);
            memcpy(place, &kept, sizeof kept);
            return 0;
        }
        if (option->choices) {
            if (choose(option->choices, value, &number)) {
                snprintf(error, room, "%s=\"%.100s\" is unknown: use one of %s", option->name, value, option->choices);
                return -1;
            }
        } else if (read_number(option, value, &number)) {
            snprintf(error, room, "%s=\"%.100s\" is invalid: use a number from %" PRId64 " to %" PRId64, option->name,
                     value, option->least, option->most);
            return -1;
        }
        memcpy(place, &number, sizeof number);
        return 0;
    }
    snprintf(error, room, "there is no option \"%.*s\": `reprise-forwarder --help` lists them",
             (int)(name_bytes > 100 ? 100 : name_bytes), name);
    return -1;
}

bool settings_valid(const char *option)
{
    struct settings ignored = {0};
    char error[500];
    const char *equals = strchr(option, '=');
    return equals && !set(&ignored, option, (size_t)(equals - option), equals + 1, error, sizeof error);
}

static char *trimmed(char *text)
{
    text += strspn(text, " \t\r\n");
    size_t length = strlen(text);
    while (length && strchr(" \t\r\n", text[length - 1])) {
        text[--length] = '\0';
    }
    return text;
}

// Read lines `name = value`; "#" begins a comment line.
static int read_file(struct settings *settings, const char *path, char *error, size_t room)
{
    FILE *file = fopen(path, "re");
    if (!file) {
        snprintf(error, room, "%.200s cannot be read: %s", path, strerror(errno));
        return -1;
    }
    int result = 0;
    char *line = NULL;
    size_t line_room = 0;
    for (unsigned number = 1; !result && getline(&line, &line_room, file) >= 0; number++) {
        char *name = trimmed(line);
        if (!*name || *name == '#') {
            continue;
        }
        char *value = strchr(name, '=');
        if (!value) {
            snprintf(error, room, "%.200s, line %u: write it as \"name = value\"", path, number);
            result = -1;
            break;
        }
        *value = '\0';
        name = trimmed(name);
        char cause[400];
        if (set(settings, name, strlen(name), trimmed(value + 1), cause, sizeof cause)) {
            snprintf(error, room, "%.200s, line %u: %s", path, number, cause);
            result = -1;
        }
    }
    free(line);
    fclose(file);
    return result;
}

static void print_help(void)
{
    puts("reprise-forwarder [--config=FILE] [--OPTION=VALUE ...]\n\n"
         "Stand in front of diod on an I/O node: schedule reads and writes, measure them, and delay writes.\n"
         "A line of FILE is `OPTION = VALUE`; later values replace earlier ones.\n");
    for (size_t i = 0; i < OPTIONS; i++) {
        printf("  --%-17s %s", options[i].name, options[i].help);
        if (options[i].choices) {
            printf(" (%s)", options[i].choices);
        } else if (!options[i].is_text) {
            printf(" (default %" PRId64 ")", options[i].otherwise);
        }
        putchar('\n');
    }
}

static int check(const struct settings *settings, char *error, size_t room)
{
    const bool hears = settings->listen || settings->hand_over;
    if (!hears || !settings->diod) {
        snprintf(error, room, "%s is missing: use --%s=HOST:PORT or the path of a socket",
                 hears ? "the address of diod" : "the address for clients", hears ? "diod" : "listen");
        return -1;
    }
    if (!scheduler_policy(settings->scheduler)) {
        snprintf(error, room, "scheduler=\"%.100s\" is unknown: use " SCHEDULER_POLICIES, settings->scheduler);
        return -1;
    }
    struct layout ignored;
    if (layout_read(&ignored, settings->layout)) {
        snprintf(error, room,
                 "layout=\"%.100s\" is unknown: use file, map:FILE, or stripe:BYTES with %llu to %llu bytes",
                 settings->layout, STRIPE_BYTES_MIN, STRIPE_BYTES_MAX);
        return -1;
    }
    if (!is_window(settings->window)) {
        snprintf(error, room, "window=\"%" PRId64 "\" is invalid: use 0, or a number from %d to %d", settings->window,
                 WINDOW_US_MIN, WINDOW_US_MAX);
        return -1;
    }
    if (settings->council && !scheduler_policy(settings->scheduler)->set_window) {
        snprintf(error, room, "council has no effect with scheduler=%s, which has no windows: use scheduler=twins",
                 settings->scheduler);
        return -1;
    }
    if (settings->write_back == WRITE_BACK_FLASH && !settings->flash) {
        snprintf(error, room, "write-back=flash has no directory: use --flash=DIRECTORY");
        return -1;
    }
    return 0;
}

int settings_read(struct settings *settings, int argc, char **argv, char *error, size_t room)
{
    *settings = (struct settings){0};
    for (size_t i = 0; i < OPTIONS; i++) {
        if (!options[i].is_text) {
            memcpy((char *)settings + options[i].offset, &options[i].otherwise, sizeof options[i].otherwise);
        }
    }
    for (int i = 1; i < argc; i++) {
        const char *word = argv[i];
        if (!strcmp(word, "--help")) {
            print_help();
            return 1;
        }
        const char *equals = strchr(word, '=');
        if (strncmp(word, "--", 2) != 0 || !equals) {
            snprintf(error, room, "\"%.100s\" is no option: write it as --name=value", word);
            return -1;
        }
        int failed;
        if (!strncmp(word, "--config=", strlen("--config="))) {
            failed = read_file(settings, equals + 1, error, room);
        } else {
            failed = set(settings, word + 2, (size_t)(equals - word - 2), equals + 1, error, room);
        }
        if (failed) {
            return -1;
        }
    }
    settings->scheduler = settings->scheduler ? settings->scheduler : fifo_policy.name;
    settings->layout = settings->layout ? settings->layout : "file";
    return check(settings, error, room);
}
