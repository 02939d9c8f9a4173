// SPDX-License-Identifier: Apache-2.0
#include "settings.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "limits.h"

#define LARGEST_UID 4294967294L // the one above it is (uid_t)-1, "no user"

static int copy_path(char *to, size_t size, const char *value)
{
    size_t length = strlen(value);
    if (value[0] != '/' || length >= size) {
        return -1;
    }
    memcpy(to, value, length + 1);
    return 0;
}

static int read_number(const char *value, long low, long high, long *number)
{
    char *end = NULL;
    errno = 0;
    long parsed = strtol(value, &end, 10);
    if (errno || end == value || *end != '\0' || parsed < low || parsed > high) {
        return -1;
    }
    *number = parsed;
    return 0;
}

static int set_socket(struct settings *settings, const char *value)
{
    return copy_path(settings->socket, sizeof settings->socket, value);
}

static int set_kill_switch(struct settings *settings, const char *value)
{
    return copy_path(settings->kill_switch, sizeof settings->kill_switch, value);
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

static int set_minimum_uid(struct settings *settings, const char *value)
{
    long number = 0;
    if (read_number(value, 0, LARGEST_UID, &number)) {
        return -1;
    }
    settings->minimum_uid = (uid_t)number;
    return 0;
}

static int set_mode(struct settings *settings, const char *value)
{
    enum mode mode = mode_from_word(value);
    if (mode == MODE_UNSET || mode == MODE_EXPLAIN) {
        return -1;
    }
    settings->mode = mode;
    return 0;
}

static const struct argument {
    const char *name;
    const char *wanted;
    int (*set)(struct settings *settings, const char *value);
} arguments[] = {
    {"socket", "an absolute path of at most 107 bytes", set_socket},
    {"deadline_ms", "a number from 1 to 1000", set_deadline},
    {"default", "on, off or observe", set_mode},
    {"minimum_uid", "a user id", set_minimum_uid},
    {"kill_switch", "an absolute path", set_kill_switch},
};

static int read_argument(struct settings *settings, const char *text, char *problem, size_t problem_size)
{
    size_t length = strcspn(text, "=");
    for (size_t i = 0; i < sizeof arguments / sizeof *arguments; i++) {
        const struct argument *argument = &arguments[i];
        if (strlen(argument->name) != length || memcmp(argument->name, text, length) != 0) {
            continue;
        }
        if (text[length] == '=' && argument->set(settings, text + length + 1) == 0) {
            return 0;
        }
        snprintf(problem, problem_size, "plugstack argument \"%.200s\": give %s=VALUE, where VALUE is %s", text,
                 argument->name, argument->wanted);
        return -1;
    }
    snprintf(problem, problem_size,
             "plugstack argument \"%.200s\" is not known: use socket=, deadline_ms=, default=, minimum_uid= or "
             "kill_switch=",
             text);
    return -1;
}

int settings_read(struct settings *settings, int argc, char *const *argv, char *problem, size_t problem_size)
{
    struct settings read = {
        .socket = "/run/reprise/matcher.sock",
        .kill_switch = "/etc/reprise/disabled",
        .deadline_ms = DEADLINE_MS_DEFAULT,
        .mode = MODE_ON,
        .minimum_uid = 0,
    };
    for (int i = 0; i < argc; i++) {
        if (read_argument(&read, argv[i], problem, problem_size)) {
            return -1;
        }
    }
    *settings = read;
    return 0;
}

bool settings_killed(const struct settings *settings)
{
    // Where nobody can tell (no permission to look there, say), the careful answer is yes.
    return access(settings->kill_switch, F_OK) == 0 || (errno != ENOENT && errno != ENOTDIR);
}

bool settings_exclude(const struct settings *settings, uid_t uid)
{
    return uid < settings->minimum_uid || settings_killed(settings);
}
