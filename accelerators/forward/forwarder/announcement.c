// SPDX-License-Identifier: Apache-2.0
#include "announcement.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <unistd.h>

#define HOST_BYTES 65 // longest name on Linux, and the NUL

int announcement_nonce(char nonce[NONCE_BYTES])
{
    uint64_t random;
    if (getrandom(&random, sizeof random, GRND_NONBLOCK) != sizeof random) {
        return -1;
    }
    snprintf(nonce, NONCE_BYTES, "%016" PRIx64, random);
    return 0;
}

// Print the name of this node, without characters that need an escape in JSON.
static void print_host(FILE *to)
{
    char name[HOST_BYTES] = {0};
    gethostname(name, sizeof name - 1);
    for (char *c = name; *c; c++) {
        *c = *c <= ' ' || *c > '~' || *c == '"' || *c == '\\' ? '?' : *c;
    }
    fputs(*name ? name : "?", to);
}

// Print the jobs that have connections: their requests may come at any time.
static void print_jobs(const struct metrics *metrics, FILE *to)
{
    const char *between = "";
    for (unsigned i = 0; i <= JOBS_MAX; i++) {
        if (metrics->jobs[i].users) {
            fprintf(to, "%s\"%s\"", between, metrics->jobs[i].name);
            between = ", ";
        }
    }
}

char *announcement_report(const struct forwarder *forwarder, const char *nonce, uint64_t now_ns)
{
    const struct load_measured measured = load_measure(&forwarder->scheduler.load, now_ns);
    char *text = NULL;
    size_t bytes = 0;
    FILE *to = open_memstream(&text, &bytes);
    if (!to) {
        return NULL;
    }
    fprintf(to, "{\"version\": 1, \"nonce\": \"%s\", \"host\": \"", nonce);
    print_host(to);
    fprintf(to,
            "\", \"number\": %" PRId64 ", \"seconds\": %.6f, \"bytes\": %" PRIu64
            ", \"bandwidth\": %.6f, \"window\": %" PRIu32 ", \"load\": ",
            forwarder->settings.number, measured.seconds, measured.bytes, measured.bandwidth,
            forwarder->scheduler.window_us);
    if (measured.has_load) {
        fprintf(to, "%.6f", measured.load);
    } else {
        fputs("null", to);
    }
    fputs(", \"jobs\": [", to);
    print_jobs(&forwarder->metrics, to);
    fputs("], \"patterns\": [", to);
    patterns_print_recent(&forwarder->metrics, to);
    fputs("]}", to);
    if (fclose(to)) {
        free(text);
        return NULL;
    }
    return text;
}

// Only the form that the council writes is accepted, so that no reader of JSON is needed.
int announcement_decision(const char *line, const char *nonce, struct decision *decision)
{
    char found[NONCE_BYTES], number[20], window[8], keep[8];
    int end = -1;
    if (sscanf(line,
               "{\"version\": 1, \"nonce\": \"%16[0-9a-f]\", \"number\": %19[0-9], \"window\": %7[0-9], "
               "\"keep\": %7[0-9]}%n",
               found, number, window, keep, &end) != 4 ||
        end < 0 || line[end] || strcmp(found, nonce) != 0) {
        return -1;
    }
    decision->number = strtoull(number, NULL, 10);
    return settings_window(window, &decision->window_us) || settings_window(keep, &decision->keep_us) ? -1 : 0;
}
