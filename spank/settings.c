// SPDX-License-Identifier: Apache-2.0
#include "settings.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "limits.h"

#define DEFAULT_ENDPOINT "unix:/run/reprise/matcher.sock"
#define LARGEST_UID 4294967294L // largest valid id; the next number is (uid_t)-1, which means "no user"

static int copy_path(char *to, size_t size, const char *value)
{
    size_t length = strlen(value);
    if (value[0] != '/' || length >= size) {
        return -1;
    }
    memcpy(to, value, length + 1);
    return 0;
}

// Read a number from `low` to `high`. The text must consist of digits. Returns 0, or -1 if the text is invalid.
static int read_number(const char *value, long low, long high, long *number)
{
    errno = 0;
    long parsed = strtol(value, NULL, 10);
    if (errno || !*value || value[strspn(value, "0123456789")] != '\0' || parsed < low || parsed > high) {
        return -1;
    }
    *number = parsed;
    return 0;
}

static int set_endpoint(struct settings *settings, const char *value)
{
    struct matcher *matcher = &settings->matcher;
    if (matcher->count == ENDPOINTS_MAX || endpoint_parse(&matcher->endpoints[matcher->count], value)) {
        return -1;
    }
    matcher->count++;
    return 0;
}

static int set_munge_socket(struct settings *settings, const char *value)
{
    return copy_path(settings->matcher.credential.munge_socket, sizeof settings->matcher.credential.munge_socket,
                     value);
}

static int set_sack_socket(struct settings *settings, const char *value)
{
    return copy_path(settings->matcher.credential.sack_socket, sizeof settings->matcher.credential.sack_socket, value);
}

static int set_credential(struct settings *settings, const char *value)
{
    const bool slurm = strcmp(value, "slurm") == 0;
    if (!slurm && strcmp(value, "munge") != 0) {
        return -1;
    }
    settings->matcher.credential.choice = slurm ? CREDENTIAL_SLURM : CREDENTIAL_MUNGE;
    return 0;
}

static int set_kill_switch(struct settings *settings, const char *value)
{
    return copy_path(settings->kill_switch, sizeof settings->kill_switch, value);
}

static int set_preload_directory(struct settings *settings, const char *value)
{
    return copy_path(settings->preload_directory, sizeof settings->preload_directory, value);
}

static int set_witness(struct settings *settings, const char *value)
{
    return copy_path(settings->witness, sizeof settings->witness, value);
}

static int set_deadline(struct settings *settings, const char *value)
{
    long number = 0;
    if (read_number(value, 1, DEADLINE_MS_MAX, &number)) {
        return -1;
    }
    settings->deadline_ms = (int)number;
    return 0;
}

static int read_uid(const char *value, uid_t *uid)
{
    long number = 0;
    if (read_number(value, 0, LARGEST_UID, &number)) {
        return -1;
    }
    *uid = (uid_t)number;
    return 0;
}

static int set_minimum_uid(struct settings *settings, const char *value)
{
    return read_uid(value, &settings->minimum_uid);
}

static int set_matcher_uid(struct settings *settings, const char *value)
{
    return read_uid(value, &settings->matcher.uid);
}

static int set_mode(struct settings *settings, const char *value)
{
    enum mode mode = mode_from_word(value);
    if (mode == MODE_UNSET || mode == MODE_EXPLAIN || mode == MODE_PROFILE) {
        return -1;
    }
    settings->mode = mode;
    return 0;
}

static int set_identity(struct settings *settings, const char *value)
{
    settings->identity = strcmp(value, "on") == 0;
    return settings->identity || strcmp(value, "off") == 0 ? 0 : -1;
}

static const struct argument {
    const char *name;
    const char *wanted;
    int (*set)(struct settings *settings, const char *value);
} arguments[] = {
    {"endpoint", "unix:/PATH (107 bytes at most) or tcp:HOST:PORT (at most 4 endpoints in total)", set_endpoint},
    {"matcher_uid", "a user id, in digits", set_matcher_uid},
    {"credential", "munge or slurm", set_credential},
    {"munge_socket", "an absolute path of at most 107 bytes", set_munge_socket},
    {"sack_socket", "an absolute path of at most 107 bytes", set_sack_socket},
    {"deadline_ms", "a number from 1 to 1000", set_deadline},
    {"default", "on, off or observe", set_mode},
    {"identity", "on or off", set_identity},
    {"minimum_uid", "a user id, in digits", set_minimum_uid},
    {"kill_switch", "an absolute path of at most 4095 bytes", set_kill_switch},
    {"preload_directory", "an absolute path of at most 4095 bytes", set_preload_directory},
    {"witness", "an absolute path of at most 4095 bytes", set_witness},
};

static const struct argument *find_argument(const char *text, size_t length)
{
    for (size_t i = 0; i < sizeof arguments / sizeof *arguments; i++) {
        if (strlen(arguments[i].name) == length && memcmp(arguments[i].name, text, length) == 0) {
            return &arguments[i];
        }
    }
    return NULL;
}

static void read_argument(struct settings *settings, const char *text, settings_report *report)
{
    size_t length = strcspn(text, "=");
    const struct argument *argument = find_argument(text, length);
    char problem[512];
    if (argument && text[length] == '=' && argument->set(settings, text + length + 1) == 0) {
        return;
    }
    if (argument) {
        snprintf(problem, sizeof problem, "plugstack argument \"%.200s\" is ignored: use %s=VALUE, where VALUE is %s",
                 text, argument->name, argument->wanted);
    } else {
        snprintf(problem, sizeof problem,
                 "plugstack argument \"%.200s\" is ignored: unknown name (`reprise doctor` lists the valid ones)",
                 text);
    }
    report(problem);
}

void settings_read(struct settings *settings, int argc, char *const *argv, settings_report *report)
{
    *settings = (struct settings){
        .kill_switch = "/etc/reprise/disabled",
        .preload_directory = "/usr/local/lib",
        .witness = "/usr/local/libexec/reprise/reprise-witness.so",
        .deadline_ms = DEADLINE_MS_DEFAULT,
        .mode = MODE_ON,
        .identity = true,
    };
    for (int i = 0; i < argc; i++) {
        read_argument(settings, argv[i], report);
    }
    if (settings->matcher.count == 0) {
        set_endpoint(settings, DEFAULT_ENDPOINT);
    }
}

bool settings_killed(const struct settings *settings)
{
    // If the kill switch cannot be checked, for example for lack of permission, assume that it exists.
    return access(settings->kill_switch, F_OK) == 0 || (errno != ENOENT && errno != ENOTDIR);
}

bool settings_exclude(const struct settings *settings, uid_t uid)
{
    return uid < settings->minimum_uid || settings_killed(settings);
}
