// SPDX-License-Identifier: Apache-2.0
// Prints access patterns, as JSON and for Prometheus.
#include <inttypes.h>

#include "metrics.h"

#define NS_PER_S 1000000000U

static double seconds(const struct features *features)
{
    return (double)(features->end_ns - features->begin_ns) / (double)NS_PER_S;
}

static double request_mean(const struct features *features)
{
    return (double)features->request_sum / (double)features->requests;
}

static double distance_mean(const struct features *features)
{
    return features->distance_sum / (double)features->distances;
}

static void print_json(const struct job *job, const char *operation, const struct features *features, FILE *to)
{
    fprintf(to,
            "{\"job\": \"%s\", \"operation\": \"%s\", \"begun_at\": %.3f, \"seconds\": %.3f, \"bytes\": %" PRIu64
            ", \"requests\": %" PRIu64 ", \"files\": %" PRIu32,
            job->name, operation, (double)features->begun_at_ns / (double)NS_PER_S, seconds(features),
            features->served_bytes, features->requests, features->files);
    if (features->requests) {
        fprintf(to, ", \"request_min\": %" PRIu32 ", \"request_max\": %" PRIu32 ", \"request_mean\": %.15g",
                features->request_min, features->request_max, request_mean(features));
    } else {
        fputs(", \"request_min\": null, \"request_max\": null, \"request_mean\": null", to);
    }
    if (features->distances) {
        fprintf(to, ", \"distance_mean\": %.15g", distance_mean(features));
    } else {
        fputs(", \"distance_mean\": null", to);
    }
    if (features->window_us != WINDOW_NONE) {
        fprintf(to, ", \"window_us\": %" PRIu32, features->window_us);
    } else {
        fputs(", \"window_us\": null", to);
    }
    if (job->user != USER_UNKNOWN) {
        fprintf(to, ", \"user\": %" PRIu32 "}", job->user);
    } else {
        fputs(", \"user\": null}", to);
    }
}

typedef const struct features *choice(const struct metrics *metrics, const struct job *job, int operation);

// Return a job's features in the last second that had any.
static const struct features *last(const struct metrics *metrics, const struct job *job, int operation)
{
    return patterns_last(&metrics->patterns, &job->patterns[operation]);
}

// Return a job's features if they are of the second before the current one; otherwise NULL.
static const struct features *recent(const struct metrics *metrics, const struct job *job, int operation)
{
    const struct features *features = last(metrics, job, operation);
    const bool is_recent = features && features->end_ns + NS_PER_S / 2 > metrics->patterns.second.begin_ns;
    return is_recent ? features : NULL;
}

static void print_all(const struct metrics *metrics, choice *choose, FILE *to)
{
    const char *between = "";
    for (unsigned i = 0; i <= JOBS_MAX; i++) {
        for (int k = 0; k < OPERATION_OTHER; k++) {
            const struct job *job = &metrics->jobs[i];
            const struct features *features = choose(metrics, job, k);
            if (features) {
                fputs(between, to);
                print_json(job, metrics_operations[k], features, to);
                between = ", ";
            }
        }
    }
}

void patterns_print_json(const struct metrics *metrics, FILE *to)
{
    fputc('[', to);
    print_all(metrics, last, to);
    fputs("]\n", to);
}

void patterns_print_recent(const struct metrics *metrics, FILE *to)
{
    print_all(metrics, recent, to);
}

// -- Prometheus --

static uint64_t recent_bytes(const struct metrics *metrics, const struct job *job)
{
    uint64_t bytes = 0;
    for (int k = 0; k < OPERATION_OTHER; k++) {
        const struct features *features = recent(metrics, job, k);
        bytes += features ? features->served_bytes + 1 : 0; // so that a job that was not served yet counts too
    }
    return bytes;
}

// Find the jobs with most bytes in the last second. Return their number.
static unsigned find_busiest(const struct metrics *metrics, const struct job *busiest[PATTERN_JOBS_MAX])
{
    uint64_t bytes[PATTERN_JOBS_MAX];
    unsigned count = 0;
    for (unsigned i = 0; i <= JOBS_MAX; i++) {
        const uint64_t more = recent_bytes(metrics, &metrics->jobs[i]);
        unsigned place = count;
        while (place && bytes[place - 1] < more) {
            place--;
        }
        if (!more || place == PATTERN_JOBS_MAX) {
            continue;
        }
        count += count < PATTERN_JOBS_MAX;
        for (unsigned k = count - 1; k > place; k--) {
            bytes[k] = bytes[k - 1];
            busiest[k] = busiest[k - 1];
        }
        bytes[place] = more;
        busiest[place] = &metrics->jobs[i];
    }
    return count;
}

// Store a value of some features. Return false if they have none.
static bool files(const struct features *features, double *value)
{
    *value = features->files;
    return true;
}

static bool smallest(const struct features *features, double *value)
{
    *value = features->request_min;
    return features->requests != 0;
}

static bool largest(const struct features *features, double *value)
{
    *value = features->request_max;
    return features->requests != 0;
}

static bool mean(const struct features *features, double *value)
{
    *value = features->requests ? request_mean(features) : 0;
    return features->requests != 0;
}

static bool distance(const struct features *features, double *value)
{
    *value = features->distances ? distance_mean(features) : 0;
    return features->distances != 0;
}

static bool bandwidth(const struct features *features, double *value)
{
    *value = (double)features->served_bytes / seconds(features);
    return true;
}

static bool rate(const struct features *features, double *value)
{
    *value = (double)features->requests / seconds(features);
    return true;
}

static const struct {
    const char *name;
    const char *help;
    bool (*get)(const struct features *features, double *value);
} gauges[] = {
    {"pattern_files", "Files that a job used in the last second", files},
    {"pattern_request_min_bytes", "Smallest request of a job in the last second", smallest},
    {"pattern_request_max_bytes", "Largest request of a job in the last second", largest},
    {"pattern_request_mean_bytes", "Mean request of a job in the last second", mean},
    {"pattern_distance_mean_bytes", "Mean distance between consecutive requests to a file in the last second",
     distance},
    {"pattern_bytes_per_second", "Bandwidth of a job in the last second", bandwidth},
    {"pattern_requests_per_second", "Requests of a job in the last second", rate},
};

void patterns_print(const struct metrics *metrics, FILE *to)
{
    const struct job *busiest[PATTERN_JOBS_MAX];
    const unsigned count = find_busiest(metrics, busiest);
    for (size_t i = 0; i < sizeof gauges / sizeof *gauges; i++) {
        fprintf(to, "# HELP reprise_forwarder_%s %s\n# TYPE reprise_forwarder_%s gauge\n", gauges[i].name,
                gauges[i].help, gauges[i].name);
        for (unsigned k = 0; k < count * OPERATION_OTHER; k++) {
            const struct job *job = busiest[k / OPERATION_OTHER];
            const struct features *features = recent(metrics, job, (int)(k % OPERATION_OTHER));
            double value;
            if (features && gauges[i].get(features, &value)) {
                fprintf(to, "reprise_forwarder_%s{job=\"%s\",operation=\"%s\"} %.15g\n", gauges[i].name, job->name,
                        metrics_operations[k % OPERATION_OTHER], value);
            }
        }
    }
}
