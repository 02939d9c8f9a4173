// SPDX-License-Identifier: Apache-2.0
#include "metrics.h"

#include <inttypes.h>
#include <string.h>

#define FIRST_LATENCY_NS 16000U

const char *const metrics_operations[] = {"read", "write", "other"};

// Return the job whose connections ended first; NULL if all have connections.
static struct job *oldest(struct metrics *metrics)
{
    struct job *found = NULL;
    for (unsigned i = 0; i < JOBS_MAX; i++) {
        struct job *job = &metrics->jobs[i];
        if (!job->users && (!found || job->last_used < found->last_used)) {
            found = job;
        }
    }
    return found;
}

struct job *metrics_job(struct metrics *metrics, const char *name)
{
    char clean[JOB_NAME_MAX + 1] = {0};
    for (size_t i = 0; i < JOB_NAME_MAX && name[i]; i++) {
        const char c = name[i];
        const int plain =
            (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || strchr("._-+@", c);
        clean[i] = plain ? c : '?'; // so that the name needs no escapes in a label
    }
    for (unsigned i = 0; i < metrics->job_count; i++) {
        if (!strcmp(metrics->jobs[i].name, clean)) {
            return &metrics->jobs[i];
        }
    }
    struct job *job = metrics->job_count < JOBS_MAX ? &metrics->jobs[metrics->job_count++] : oldest(metrics);
    if (job) {
        *job = (struct job){.user = USER_UNKNOWN, .write_back = -1, .number = ++metrics->names};
        memcpy(job->name, clean, sizeof clean);
        return job;
    }
    job = &metrics->jobs[JOBS_MAX];
    if (!job->name[0]) {
        *job = (struct job){.user = USER_UNKNOWN, .write_back = -1, .number = ++metrics->names};
        memcpy(job->name, "other", sizeof "other");
    }
    return job;
}

void metrics_use(struct metrics *metrics, struct job *job)
{
    if (job) {
        job->users++;
        job->last_used = ++metrics->uses;
    }
}

void metrics_leave(struct metrics *metrics, struct job *job)
{
    if (job) {
        job->users--;
        job->last_used = ++metrics->uses;
    }
}

void metrics_let_in(struct job *job, uint32_t user)
{
    job->user = !job->has_user || job->user == user ? user : USER_UNKNOWN;
    job->has_user = true;
}

void metrics_count(struct job *job, enum operation operation, uint64_t bytes, uint64_t latency_ns)
{
    unsigned bucket = 0;
    for (uint64_t limit = FIRST_LATENCY_NS; bucket < LATENCIES - 1 && latency_ns > limit; limit *= 4) {
        bucket++;
    }
    job->requests[operation]++;
    job->latencies[operation][bucket]++;
    job->latency_ns[operation] += latency_ns;
    if (operation != OPERATION_OTHER) {
        job->bytes[operation] += bytes;
    }
}

static void print_number(FILE *to, const char *name, const char *type, const char *help, uint64_t value)
{
    fprintf(to, "# HELP reprise_forwarder_%s %s\n# TYPE reprise_forwarder_%s %s\nreprise_forwarder_%s %" PRIu64 "\n",
            name, help, name, type, name, value);
}

static void print_histogram(FILE *to, const struct job *job, enum operation operation)
{
    const char *const label = metrics_operations[operation];
    uint64_t sum = 0;
    uint64_t limit = FIRST_LATENCY_NS;
    for (unsigned i = 0; i < LATENCIES; i++, limit *= 4) {
        sum += job->latencies[operation][i];
        fprintf(to, "reprise_forwarder_request_seconds_bucket{job=\"%s\",operation=\"%s\",le=\"", job->name, label);
        if (i < LATENCIES - 1) {
            fprintf(to, "%.9g\"} %" PRIu64 "\n", (double)limit * 1e-9, sum);
        } else {
            fprintf(to, "+Inf\"} %" PRIu64 "\n", sum);
        }
    }
    fprintf(to, "reprise_forwarder_request_seconds_sum{job=\"%s\",operation=\"%s\"} %.9f\n", job->name, label,
            (double)job->latency_ns[operation] * 1e-9);
    fprintf(to, "reprise_forwarder_request_seconds_count{job=\"%s\",operation=\"%s\"} %" PRIu64 "\n", job->name, label,
            sum);
}

void metrics_print(const struct metrics *metrics, const struct gauge *gauges, unsigned count, FILE *to)
{
    const unsigned jobs = metrics->job_count + (metrics->jobs[JOBS_MAX].name[0] != '\0');
    fputs("# HELP reprise_forwarder_bytes_total Bytes read and written by jobs\n"
          "# TYPE reprise_forwarder_bytes_total counter\n",
          to);
    for (unsigned i = 0; i < jobs; i++) {
        for (int k = 0; k < OPERATION_OTHER; k++) {
            fprintf(to, "reprise_forwarder_bytes_total{job=\"%s\",operation=\"%s\"} %" PRIu64 "\n",
                    metrics->jobs[i].name, metrics_operations[k], metrics->jobs[i].bytes[k]);
        }
    }
    fputs("# HELP reprise_forwarder_request_seconds Time from a request's arrival to its reply\n"
          "# TYPE reprise_forwarder_request_seconds histogram\n",
          to);
    for (unsigned i = 0; i < jobs; i++) {
        for (int k = 0; k < OPERATIONS; k++) {
            print_histogram(to, &metrics->jobs[i], (enum operation)k);
        }
    }
    print_number(to, "connections", "gauge", "Connections of clients", metrics->connections);
    print_number(to, "connections_total", "counter", "Connections accepted", metrics->connections_total);
    print_number(to, "refused_total", "counter", "Connections closed for a malformed message or a limit",
                 metrics->refused);
    print_number(to, "cached_bytes_total", "counter", "Bytes acknowledged from the cache", metrics->cached_bytes);
    print_number(to, "through_bytes_total", "counter", "Bytes written through because the cache could not take them",
                 metrics->through_bytes);
    print_number(to, "journaled_bytes_total", "counter", "Bytes written to flash", metrics->journaled_bytes);
    print_number(to, "destaged_bytes_total", "counter", "Bytes moved from the cache to the file system",
                 metrics->destaged_bytes);
    print_number(to, "replayed_bytes_total", "counter", "Bytes found on flash at the start", metrics->replayed_bytes);
    print_number(to, "write_errors_total", "counter", "Delayed writes that failed", metrics->write_errors);
    print_number(to, "lost_bytes_total", "counter", "Bytes of delayed writes that failed", metrics->lost_bytes);
    print_number(to, "burst_buffers_started_total", "counter", "Burst buffers started", metrics->bursts_started);
    print_number(to, "burst_buffers_denied_total", "counter",
                 "Connections without the burst buffer that they asked for", metrics->bursts_denied);
    print_number(to, "burst_buffers_refused_total", "counter",
                 "Connections that did not prove whose burst buffer they asked for", metrics->bursts_refused);
    print_number(to, "council_decisions_total", "counter", "Decisions of the council that were applied",
                 metrics->council_decisions);
    print_number(to, "council_refused_total", "counter", "Decisions of the council that were not believed",
                 metrics->council_refused);
    print_number(to, "pattern_files_replaced_total", "counter",
                 "Files forgotten in a second in which they were used, because there were too many",
                 metrics->patterns.replaced);
    patterns_print(metrics, to);
    for (unsigned i = 0; i < count; i++) {
        print_number(to, gauges[i].name, "gauge", gauges[i].help, gauges[i].value);
    }
}
