// SPDX-License-Identifier: Apache-2.0
#include "settings.h"

#include <stdio.h>
#include <string.h>

#include "../nine.h"
#include "raw.h"

#define LIBRARY "libreprise_forward"
#define MS_NS 1000000LL

static const struct variable {
    const char *name;
    int64_t least;
    int64_t most;
    int64_t otherwise;
    int64_t unit; // the setting's units in one of the variable
    size_t offset;
} variables[] = {
    {"REPRISE_FORWARD_MIN_BYTES", 1, LEAST_BYTES_MAX, 65536, 1, offsetof(struct settings, least_bytes)},
    {"REPRISE_FORWARD_READ_MS", 1, PATIENCE_MS_MAX, 2000, MS_NS, offsetof(struct settings, read_ns)},
    {"REPRISE_FORWARD_WRITE_MS", 1, PATIENCE_MS_MAX, 120000, MS_NS, offsetof(struct settings, write_ns)},
    {"REPRISE_FORWARD_CHECK_MS", 0, CHECK_MS_MAX, 1000, MS_NS, offsetof(struct settings, check_ns)},
    {"REPRISE_FORWARD_MAP_OWNER", 0, UINT32_MAX - 1LL, -1, 1, offsetof(struct settings, owner)},
};

static void be_silent(const char *line)
{
    (void)line;
}

static void read_variable(struct settings *settings, const struct variable *variable, variables_lookup *lookup,
                          variables_complain *complain)
{
    const char *value = lookup(variable->name);
    int64_t number = variable->otherwise;
    if (value && *value) {
        number = variables_number(value, variable->least, variable->most);
        if (number < 0) {
            char otherwise[200];
            snprintf(otherwise, sizeof otherwise, "use a number from %lld to %lld; the default applies",
                     (long long)variable->least, (long long)variable->most);
            variables_complain_about(complain, LIBRARY, variable->name, value, otherwise);
            number = variable->otherwise;
        }
    }
    number = number < 0 ? number : number * variable->unit;
    memcpy((char *)settings + variable->offset, &number, sizeof number);
}

// Return whether a path is absolute and has no `.`, `..` or empty name, so that it can be compared with the kernel's
// paths.
static bool is_plain(const char *path, size_t length)
{
    if (!length || path[0] != '/') {
        return false;
    }
    for (size_t at = 0; at < length;) {
        size_t name = 0;
        at++;
        while (at + name < length && path[at + name] != '/') {
            name++;
        }
        if (!name || (name == 1 && path[at] == '.') || (name == 2 && path[at] == '.' && path[at + 1] == '.')) {
            return false;
        }
        at += name;
    }
    return true;
}

// Read the prefixes, which colons separate. The library is off if one of them is invalid.
static bool read_prefixes(struct settings *settings, const char *value)
{
    while (*value) {
        const size_t length = strcspn(value, ":");
        if (settings->prefix_count == PREFIXES_MAX || length >= PATH_BYTES || !is_plain(value, length)) {
            return false;
        }
        struct prefix *prefix = &settings->prefixes[settings->prefix_count++];
        memcpy(prefix->path, value, length);
        prefix->path[length] = '\0';
        prefix->length = length;
        value += length + (value[length] == ':');
    }
    return settings->prefix_count > 0;
}

// Return a number that a name always gives, for nodes without a number (FNV-1a, 32 bits).
static uint32_t number_of(const char *name)
{
    uint32_t hash = 2166136261U;
    for (; *name; name++) {
        hash = (hash ^ (unsigned char)*name) * 16777619U;
    }
    return hash;
}

// Copy the path of the map, with the job's number in place of %j. Returns false if that is not possible.
static bool read_map(struct settings *settings, const char *value, const char *job)
{
    static const char place[] = "%j";
    const char *at = strstr(value, place);
    if (at && (!job || variables_number(job, 1, UINT32_MAX) < 0)) {
        return false;
    }
    const size_t before = at ? (size_t)(at - value) : strlen(value);
    const size_t room = sizeof settings->map;
    const int bytes =
        snprintf(settings->map, room, "%.*s%s%s", (int)before, value, at ? job : "", at ? at + sizeof place - 1 : "");
    return value[0] == '/' && bytes >= 0 && (size_t)bytes < room && !strstr(settings->map, place);
}

static void read_places(struct settings *settings, variables_lookup *lookup, variables_complain *complain)
{
    const char *map = lookup("REPRISE_FORWARD_MAP");
    const char *prefixes = lookup("REPRISE_FORWARD_PREFIXES");
    if (!map || !*map || !prefixes || !*prefixes) {
        return;
    }
    if (strlen(map) >= sizeof settings->map || !read_map(settings, map, lookup("SLURM_JOB_ID"))) {
        variables_complain_about(complain, LIBRARY, "REPRISE_FORWARD_MAP", map,
                                 "use an absolute path of at most 4095 bytes, with %j at most once and only in jobs; "
                                 "nothing is forwarded");
    } else if (!read_prefixes(settings, prefixes)) {
        variables_complain_about(complain, LIBRARY, "REPRISE_FORWARD_PREFIXES", prefixes,
                                 "use at most 8 absolute paths without \"..\", separated by colons; nothing is "
                                 "forwarded");
    } else {
        settings->enabled = true;
    }
}

#ifdef FORWARD_BURST
static const struct option {
    const char *name;
    const char *option;  // of the burst buffer
    const char *choices; // NULL: a number
} options[] = {
    {"REPRISE_FORWARD_BURST", "write-back", "ram flash"},
    {"REPRISE_FORWARD_BURST_CLOSE", "close", "return wait"},
    {"REPRISE_FORWARD_BURST_WORKERS", "workers", NULL},
    {"REPRISE_FORWARD_BURST_RAM_BYTES", "ram-bytes", NULL},
    {"REPRISE_FORWARD_BURST_FLASH_BYTES", "flash-bytes", NULL},
    {"REPRISE_FORWARD_BURST_RAM_DESTAGERS", "ram-destagers", NULL},
    {"REPRISE_FORWARD_BURST_FLASH_DESTAGERS", "flash-destagers", NULL},
    {"REPRISE_FORWARD_BURST_RAM_THRESHOLD", "ram-threshold", NULL},
    {"REPRISE_FORWARD_BURST_FLASH_THRESHOLD", "flash-threshold", NULL},
    {"REPRISE_FORWARD_BURST_DESTAGE_AFTER", "destage-after", NULL},
};

// Return whether a value is one of the words, which spaces separate.
static bool is_word_of(const char *words, const char *value)
{
    const size_t length = strlen(value);
    const char *found = length ? strstr(words, value) : NULL;
    return found && (found == words || found[-1] == ' ') && (!found[length] || found[length] == ' ');
}

// Compose the request for the job's burst buffer. An invalid value leaves the burst buffer's default.
static void read_burst(struct settings *settings, variables_lookup *lookup, variables_complain *complain)
{
    const char *job = lookup("SLURM_JOB_ID"), *mode = lookup(options[0].name);
    const int64_t job_number = job ? variables_number(job, 1, UINT32_MAX) : -1;
    if (!mode || !*mode || job_number < 0) {
        return;
    }
    size_t bytes = (size_t)snprintf(settings->burst, sizeof settings->burst, BURST_VERSION " %lld %u",
                                    (long long)job_number, (unsigned)raw_call(SYS_geteuid, 0, 0, 0, 0, 0, 0));
    for (size_t i = 0; i < sizeof options / sizeof *options; i++) {
        const char *value = lookup(options[i].name);
        if (!value || !*value) {
            continue;
        }
        const int64_t number = options[i].choices ? -1 : variables_number(value, 0, BURST_NUMBER_MAX);
        if (options[i].choices ? !is_word_of(options[i].choices, value) : number < 0) {
            variables_complain_about(complain, LIBRARY, options[i].name, value,
                                     options[i].choices ? options[i].choices : "use a number; the default applies");
        } else if (number < 0) {
            bytes += (size_t)snprintf(settings->burst + bytes, sizeof settings->burst - bytes, " %s=%s",
                                      options[i].option, value);
        } else { // without leading zeros, so that the length has a limit
            bytes += (size_t)snprintf(settings->burst + bytes, sizeof settings->burst - bytes, " %s=%lld",
                                      options[i].option, (long long)number);
        }
    }
    settings->burst_keeps = !strcmp(mode, "flash");
}
#endif

// Compose the name by which forwarders, and the council that chooses their window, know the job.
static void read_job(struct settings *settings, variables_lookup *lookup, variables_complain *complain)
{
    const char *job = lookup("SLURM_JOB_ID"), *explore = lookup("REPRISE_FORWARD_EXPLORE");
    const bool forbids = explore && !strcmp(explore, "no");
    if (explore && *explore && !forbids && strcmp(explore, "yes") != 0) {
        variables_complain_about(complain, LIBRARY, "REPRISE_FORWARD_EXPLORE", explore,
                                 "use yes or no; the default yes applies");
    }
    if (job && variables_number(job, 1, UINT32_MAX) > 0) {
        settings->job_length =
            (size_t)snprintf(settings->job, sizeof settings->job, "%lld%s",
                             (long long)variables_number(job, 1, UINT32_MAX), forbids ? JOB_STEADY : "");
    }
}

static void read_authentication(struct settings *settings, variables_lookup *lookup, variables_complain *complain)
{
    const char *value = lookup("REPRISE_FORWARD_AUTH");
    settings->munge = !value || strcmp(value, "none") != 0;
    if (value && *value && settings->munge && strcmp(value, "munge") != 0) {
        variables_complain_about(complain, LIBRARY, "REPRISE_FORWARD_AUTH", value,
                                 "use munge or none; the default munge applies");
    }
}

void settings_read(struct settings *settings, variables_lookup *lookup, variables_complain *complain, const char *host)
{
    const char *report = lookup("REPRISE_FORWARD_REPORT");
    const char *disabled = lookup("REPRISE_FORWARD_DISABLE");
    const char *node = lookup("SLURM_NODEID");
    *settings = (struct settings){0};
    if (!report || !*report) {
        complain = be_silent;
    } else if (strlen(report) < sizeof settings->report) {
        memcpy(settings->report, report, strlen(report) + 1);
    } else {
        variables_complain_about(complain, LIBRARY, "REPRISE_FORWARD_REPORT", report,
                                 "use a path of at most 4095 bytes; no report is written");
    }
    if (disabled && *disabled && strcmp(disabled, "0") != 0) {
        return;
    }
    for (size_t i = 0; i < sizeof variables / sizeof *variables; i++) {
        read_variable(settings, &variables[i], lookup, complain);
    }
    const int64_t number = node ? variables_number(node, 0, NODE_MAX) : -1;
    settings->node = number < 0 ? number_of(host) : (uint32_t)number;
    read_job(settings, lookup, complain);
    read_authentication(settings, lookup, complain);
#ifdef FORWARD_BURST
    read_burst(settings, lookup, complain);
#endif
    read_places(settings, lookup, complain);
}
