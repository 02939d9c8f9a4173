// SPDX-License-Identifier: Apache-2.0
// The plugin's mode, chosen by the site or the user.
#ifndef REPRISE_MODE_H
#define REPRISE_MODE_H

#define OPTION_TWIN "REPRISE" // the environment variable with which users set a mode

enum mode {
    MODE_UNSET,
    MODE_OFF,
    MODE_ON,
    MODE_OBSERVE,
    MODE_EXPLAIN,
    MODE_PROFILE, // like MODE_ON, but the job's programs are also profiled (profile.h)
};

// Return the mode that a word names; MODE_UNSET if the word is NULL or names no mode.
enum mode mode_from_word(const char *word);

// Return the name of a mode, which must not be MODE_UNSET.
const char *mode_word(enum mode mode);

// Return the name of a mode in requests. It is "on" for MODE_PROFILE, because profiling concerns only the plugin, and
// older matchers do not know the mode "profile".
const char *mode_asked(enum mode mode);

#endif
