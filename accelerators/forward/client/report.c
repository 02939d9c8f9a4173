// SPDX-License-Identifier: Apache-2.0
// Appends a line of JSON to the file that REPRISE_FORWARD_REPORT names, when a process ends.
#define _GNU_SOURCE
#include <stdio.h>
#include <unistd.h>

#include "report_file.h"
#include "state.h"

static unsigned long long value(_Atomic uint64_t *counter)
{
    return atomic_load(counter);
}

__attribute__((destructor)) static void report(void)
{
    struct state *state = state_get();
    const struct settings *settings = state_settings();
    char line[1024], name[32];
    if (!state || !*settings->report) {
        return;
    }
    struct counters *counters = &state->counters;
    report_file_program(name, sizeof name);
    const int length = snprintf(
        line, sizeof line,
        "{\"pid\": %ld, \"program\": \"%s\", \"read_calls\": %llu, \"read_bytes\": %llu, \"write_calls\": %llu, "
        "\"write_bytes\": %llu, \"redone_bytes\": %llu, \"direct_calls\": %llu, \"connections\": %llu, "
        "\"failures\": %llu, \"maps\": %llu, \"forwarders\": %d, \"other_files\": %llu}\n",
        (long)getpid(), name, value(&counters->read_calls), value(&counters->read_bytes), value(&counters->write_calls),
        value(&counters->write_bytes), value(&counters->redone_bytes), value(&counters->direct_calls),
        value(&counters->connections), value(&counters->failures), (unsigned long long)state->route.maps,
        (int)state->route.forwarders, value(&counters->other_files));
    report_file_append(settings->report, line, (size_t)length);
}
