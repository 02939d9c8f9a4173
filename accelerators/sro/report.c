// SPDX-License-Identifier: Apache-2.0
// Appends a line of JSON to the file that SRO_REPORT names, when a process ends.
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "files.h"
#include "state.h"

// Copy a path and replace %p by the process id. Returns 0, or -1 if the result is too long.
static int expand(char *to, size_t size, const char *path, long pid)
{
    size_t length = 0;
    for (; *path; path++) {
        int more = 1;
        if (path[0] == '%' && path[1] == 'p') {
            more = snprintf(to + length, size - length, "%ld", pid);
            path++;
        } else if (length + 1 < size) {
            to[length] = *path;
        }
        length += (size_t)more;
        if (length >= size) {
            return -1;
        }
    }
    to[length] = '\0';
    return 0;
}

static int describe(char *line, size_t size, struct state *state, const struct settings *settings)
{
    const struct counters sum = files_counters(state);
    char name[32] = "";
    for (size_t i = 0; program_invocation_short_name[i] && i < sizeof name - 1; i++) {
        unsigned char c = (unsigned char)program_invocation_short_name[i];
        name[i] = c < ' ' || c > '~' || c == '"' || c == '\\' ? '?' : (char)c;
    }
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
    char path[PATH_BYTES + 32], line[1024];
    if (!state || !*settings->report || expand(path, sizeof path, settings->report, (long)getpid())) {
        return;
    }
    const int length = describe(line, sizeof line, state, settings);
    int fd = open(path, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC | O_NOCTTY | O_NONBLOCK, 0666);
    if (fd >= 0) {
        if (write(fd, line, (size_t)length) < 0) {
            // at the end of a process, there is nobody to report the error to
        }
        close(fd);
    }
}
