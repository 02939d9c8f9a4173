// SPDX-License-Identifier: Apache-2.0
#include "sbatch_options.h"

#include <stdbool.h>
#include <string.h>

#include "slurm_options.h"

// Maximum number of words that are looked up as files. Each lookup may search PATH; more than a few unknown options on
// one command line do not occur.
#define LOOKUPS_MAX 16

// States whether an option takes the next word as its value.
enum takes {
    TAKES_NOTHING,
    TAKES_WORD,
    TAKES_UNKNOWN,
};

// Return whether, in a release, the option whose name begins with `name` takes the next word. TAKES_UNKNOWN if the
// release has no such option, or several.
static enum takes taken_in_release(unsigned char release, const char *name, size_t length)
{
    enum takes found = TAKES_UNKNOWN;
    for (size_t i = 0; i < sizeof long_options / sizeof *long_options; i++) {
        const struct long_option *option = &long_options[i];
        if (option->first > release || option->last < release || strncmp(option->name, name, length) != 0) {
            continue;
        }
        if (found != TAKES_UNKNOWN) {
            return TAKES_UNKNOWN;
        }
        found = option->takes_word ? TAKES_WORD : TAKES_NOTHING;
    }
    return found;
}

// Match a name exactly, or as an abbreviation that getopt_long(3) accepts in some releases. These releases must agree
// on whether the option takes the next word.
static enum takes long_option_takes(const char *name, size_t length)
{
    for (size_t i = 0; i < sizeof long_options / sizeof *long_options; i++) {
        if (strlen(long_options[i].name) == length && strncmp(long_options[i].name, name, length) == 0) {
            return long_options[i].takes_word ? TAKES_WORD : TAKES_NOTHING;
        }
    }
    enum takes found = TAKES_UNKNOWN;
    for (unsigned char release = 0; release < SLURM_RELEASES; release++) {
        const enum takes takes = taken_in_release(release, name, length);
        if (takes != TAKES_UNKNOWN && found != TAKES_UNKNOWN && takes != found) {
            return TAKES_UNKNOWN;
        }
        found = takes != TAKES_UNKNOWN ? takes : found;
    }
    return found;
}

// Return whether a group of short options takes the next word as a value. `cluster` is the group without its dash: HN2
// for -HN2. The rest of the word after an unknown option counts as its value.
static enum takes cluster_takes(const char *cluster)
{
    for (; *cluster; cluster++) {
        const char *known = *cluster == ':' ? NULL : strchr(short_options, *cluster);
        if (!known) {
            return cluster[1] == '\0' ? TAKES_UNKNOWN : TAKES_NOTHING;
        }
        if (known[1] == ':') { // the option's value is the rest of the word, if there is any
            return known[2] != ':' && cluster[1] == '\0' ? TAKES_WORD : TAKES_NOTHING;
        }
    }
    return TAKES_NOTHING;
}

static enum takes word_takes(const char *word)
{
    if (word[1] != '-') {
        return cluster_takes(word + 1);
    }
    size_t length = strcspn(word + 2, "=");
    if (word[2 + length] == '=') {
        return TAKES_NOTHING; // `=` is followed by the value, so no option takes the next word
    }
    return long_option_takes(word + 2, length);
}

// True if a long option is `name`, or a prefix of `name` with at least `unique` characters.
static bool is_long(const char *word, const char *name, size_t unique)
{
    size_t length = strncmp(word, "--", 2) == 0 ? strcspn(word + 2, "=") : 0;
    return length >= unique && strncmp(name, word + 2, length) == 0;
}

// Return the value of -D or --chdir: the rest of `word`, or else `next`. NULL for any other option.
static const char *directory_in(const char *word, const char *next)
{
    if (is_long(word, "chdir", 2)) {
        const char *value = strchr(word, '=');
        return value ? value + 1 : next;
    }
    if (word[1] == '-') {
        return NULL;
    }
    for (const char *option = word + 1; *option; option++) {
        if (*option == 'D') {
            return option[1] ? option + 1 : next;
        }
        const char *known = strchr(short_options, *option);
        if (!known || known[1] == ':') {
            return NULL;
        }
    }
    return NULL;
}

// Return whether `next`, the word after an unknown option without `=`, is the value of that option. This is assumed
// unless `next` is missing, begins with `-`, is the `:` of a heterogeneous job, or names a script.
static bool is_value(const char *next, const char *directory, const struct script_lookup *lookup)
{
    return next && next[0] != '-' && strcmp(next, ":") != 0 && !lookup->is_script(lookup->context, next, directory);
}

struct sbatch_words sbatch_read_words(size_t argc, char *const *argv, const struct script_lookup *lookup)
{
    struct sbatch_words words = {0};
    size_t lookups = 0;
    size_t i = 1;
    while (i < argc) {
        const char *word = argv[i];
        const char *next = i + 1 < argc ? argv[i + 1] : NULL;
        if (word[0] != '-' || word[1] == '\0') {
            words.script = strcmp(word, ":") == 0 ? 0 : i;
            break;
        }
        if (strcmp(word, "--") == 0) {
            words.script = next ? i + 1 : 0;
            break;
        }
        enum takes takes = word_takes(word);
        const bool is_known = takes != TAKES_UNKNOWN;
        if (is_long(word, "wrap", 2) || (!is_known && lookups++ == LOOKUPS_MAX)) {
            break;
        }
        if (!is_known) {
            takes = is_value(next, words.directory, lookup) ? TAKES_WORD : TAKES_NOTHING;
        }
        const char *directory = directory_in(word, next);
        words.directory = directory ? directory : words.directory;
        i += takes == TAKES_WORD ? 2 : 1;
    }
    return words;
}
