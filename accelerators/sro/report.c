// SPDX-License-Identifier: Apache-2.0
// Appends a line of JSON to the file that SRO_REPORT names, when a process ends.
#define _GNU_SOURCE
#include <stdio.h>
#include <unistd.h>

#include "files.h"
#include "report_file.h"
#include "state.h"

static int describe(char *line, size_t size, struct state *state, const struct settings *settings)
{
    const struct counters sum = files_counters(state);
    char name[32];
    report_file_program(name, sizeof name);
    return snprintf(line, size,
                    "{\"pid\": %ld, \"program\": \"%s\", \"binsize\": %lld, \"threshold\": %lld, \"prefetch\": %lld, "
                    "\"sequence\": %lld, \"accesses\": %llu, \"misses\": %llu, \"hits\": %llu, \"zones\": %llu, "
                    "\"bytes\": %llu, \"held_back\": %llu, \"dropped\": %llu, \"evicted\": %llu, "
                    "\"spent_s\": %.6f, \"saved_s\": %.6f, \"threads\": \"%s\"}\n",
                    (long)getpid(), name, (long long)settings->bin_bytes, (long long)settings->threshold,
                    (long long)settings->zone_bytes, (long long)settings->sequence, (unsigned long long)sum.accesses,
                    (unsigned long long)sum.misses, (unsigned long long)sum.hits, (unsigned long long)sum.zones,
                    (unsigned long long)sum.bytes, (unsigned long long)sum.held_back, (unsigned long long)sum.dropped,
                    (unsigned long long)sum.evicted, (double)atomic_load(&state->ledger.spent_ns) / 1e9,
                    (double)atomic_load(&state->ledger.saved_ns) / 1e9,
                    atomic_load(&state->pool.broken) ? "refused" : "ok");
}

__attribute__((destructor)) static void report(void)
{
    struct state *state = state_get();
    const struct settings *settings = state_settings();
    char line[1024];
    if (!state || !*settings->report) {
        return;
    }
    report_file_append(settings->report, line, (size_t)describe(line, sizeof line, state, settings));
}
