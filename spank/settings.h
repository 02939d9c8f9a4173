// SPDX-License-Identifier: Apache-2.0
// The arguments of the plugin's line in plugstack.conf.
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
    char witness[PATH_MAX]; // the library that profiles a job
    int deadline_ms;
    enum mode mode;
    bool identity; // whether jobs answer who their programs are
    uid_t minimum_uid;
};

// Called with one line that names an argument, what is wrong with it and the remedy.
typedef void settings_report(const char *problem);

// Read plugstack arguments over the defaults. One that is not as it should be is reported and left out.
void settings_read(struct settings *settings, int argc, char *const *argv, settings_report *report);

// True while the site has everything switched off, or has excluded this user.
bool settings_exclude(const struct settings *settings, uid_t uid);

// True while the kill switch exists, or cannot be looked at.
bool settings_killed(const struct settings *settings);

#endif
