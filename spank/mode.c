// SPDX-License-Identifier: Apache-2.0
#include "mode.h"

#include <stddef.h>
#include <string.h>

static const struct {
    enum mode mode;
    const char *word;
} words[] = {
    // the words that users and sites write for the modes
    {MODE_OFF, "off"}, {MODE_ON, "on"}, {MODE_OBSERVE, "observe"}, {MODE_EXPLAIN, "explain"}, {MODE_PROFILE, "profile"},
};

enum mode mode_from_word(const char *word)
{
    for (size_t i = 0; word && i < sizeof words / sizeof *words; i++) {
        if (strcmp(word, words[i].word) == 0) {
            return words[i].mode;
        }
    }
    return MODE_UNSET;
}

const char *mode_word(enum mode mode)
{
    for (size_t i = 0; i < sizeof words / sizeof *words; i++) {
        if (mode == words[i].mode) {
            return words[i].word;
        }
    }
    return "";
}

const char *mode_asked(enum mode mode)
{
    return mode_word(mode == MODE_PROFILE ? MODE_ON : mode);
}
