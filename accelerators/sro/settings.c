// SPDX-License-Identifier: Apache-2.0
#include "settings.h"

#include <stddef.h>
#include <stdio.h>
#include <string.h>

static const struct variable {
    const char *name;
    const char *unit;
    int64_t otherwise;
    int64_t most;
    size_t offset;
} variables[] = {
    {"SRO_DSC_BINSIZE", " of bytes", 1 << 20, BYTES_MAX, offsetof(struct settings, bin_bytes)},
    {"SRO_CLUSTER_THRESHOLD", "", 2, THRESHOLD_MAX, offsetof(struct settings, threshold)},
    {"SRO_PREFETCH_SIZE", " of bytes", 20 << 20, BYTES_MAX, offsetof(struct settings, zone_bytes)},
    {"SRO_SEQUENCE_LENGTH", "", 100, SEQUENCE_MAX, offsetof(struct settings, sequence)},
};

#define LIBRARY "libreprise_sro"

static void read_variable(struct settings *settings, const struct variable *variable, variables_lookup *lookup,
                          variables_complain *complain)
{
    const char *value = lookup(variable->name);
    int64_t number = value && *value ? variables_number(value, 1, variable->most) : variable->otherwise;
    if (number < 0) {
        char otherwise[200];
        snprintf(otherwise, sizeof otherwise, "use a number%s from 1 to %lld; the default %lld applies", variable->unit,
                 (long long)variable->most, (long long)variable->otherwise);
        variables_complain_about(complain, LIBRARY, variable->name, value, otherwise);
        number = variable->otherwise;
    }
    memcpy((char *)settings + variable->offset, &number, sizeof number);
}

static void be_silent(const char *line)
{
    (void)line;
}

void settings_read(struct settings *settings, variables_lookup *lookup, variables_complain *complain)
{
    const char *report = lookup("SRO_REPORT");
    const char *disabled = lookup("SRO_DISABLE");
    *settings = (struct settings){0};
    if (!report || !*report) {
        complain = be_silent;
    } else if (strlen(report) < sizeof settings->report) {
        memcpy(settings->report, report, strlen(report) + 1);
    } else {
        variables_complain_about(complain, LIBRARY, "SRO_REPORT", report,
                                 "use a path of at most 4095 bytes; no report is written");
    }
    settings->disabled = disabled && *disabled && strcmp(disabled, "0") != 0;
    for (size_t i = 0; i < sizeof variables / sizeof *variables; i++) {
        read_variable(settings, &variables[i], lookup, complain);
    }
    int64_t piece = settings->bin_bytes < settings->zone_bytes ? settings->bin_bytes : settings->zone_bytes;
    settings->piece_bytes = piece < PAGE_BYTES ? PAGE_BYTES : piece;
    const int64_t part = (settings->piece_bytes + PARTS_MAX - 1) / PARTS_MAX;
    settings->part_bytes = part < PAGE_BYTES ? PAGE_BYTES : part;
}
