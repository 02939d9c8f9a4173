// SPDX-License-Identifier: Apache-2.0
// What the site or the user wants of the plugin.
#ifndef REPRISE_MODE_H
#define REPRISE_MODE_H

#define OPTION_TWIN "REPRISE" // the variable in which users give one

enum mode {
    MODE_UNSET,
    MODE_OFF,
    MODE_ON,
    MODE_OBSERVE,
    MODE_EXPLAIN,
    MODE_PROFILE, // as MODE_ON, and the job's programs are witnessed (profile.h)
};

// MODE_UNSET for a word that is no mode (or NULL).
enum mode mode_from_word(const char *word);

// The word of a mode that is set.
const char *mode_word(enum mode mode);

// The word of a mode to the matcher: a profile is the plugin's own affair, and older matchers do not know of it.
const char *mode_asked(enum mode mode);

#endif
