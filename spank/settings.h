// SPDX-License-Identifier: Apache-2.0
// The arguments of the plugin's line in plugstack.conf.
#ifndef REPRISE_SETTINGS_H
#define REPRISE_SETTINGS_H

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>
#include <sys/un.h>

#include "mode.h"

struct settings {
    char socket[sizeof((struct sockaddr_un *)0)->sun_path];
    char kill_switch[PATH_MAX];
    int deadline_ms;
    enum mode mode;
    uid_t minimum_uid;
};

// Read plugstack arguments over the defaults. Returns 0, or -1 with one line in `problem` that names the argument, the
// cause and the remedy.
int settings_read(struct settings *settings, int argc, char *const *argv, char *problem, size_t problem_size);

// True while the site has everything switched off, or has excluded this user.
bool settings_exclude(const struct settings *settings, uid_t uid);

// True while the kill switch exists, or cannot be looked at.
bool settings_killed(const struct settings *settings);

#endif
