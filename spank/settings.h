// SPDX-License-Identifier: Apache-2.0
// Reads the arguments of the plugin's line in plugstack.conf.
#ifndef REPRISE_SETTINGS_H
#define REPRISE_SETTINGS_H

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include "matcher.h"
#include "mode.h"

struct settings {
    struct matcher matcher;
    char kill_switch[PATH_MAX];
    char preload_directory[PATH_MAX];
    char witness[PATH_MAX]; // path of the library that profiles a job
    int deadline_ms;
    enum mode mode;
    bool identity; // whether jobs report the identity of their programs
    uid_t minimum_uid;
};

// Called with one line that names an argument, the error and the remedy.
typedef void settings_report(const char *problem);

// Read the defaults and then the plugstack arguments. An invalid argument is reported and ignored.
void settings_read(struct settings *settings, int argc, char *const *argv, settings_report *report);

// True if the site has disabled Reprise, or excludes this user.
bool settings_exclude(const struct settings *settings, uid_t uid);

// True if the kill switch exists or cannot be checked.
bool settings_killed(const struct settings *settings);

#endif
