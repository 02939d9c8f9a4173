// SPDX-License-Identifier: Apache-2.0
#include "sbatch_options.h"

#include <stdbool.h>
#include <string.h>

// States whether an option takes the next word as its value.
enum takes {
    TAKES_NOTHING,
    TAKES_WORD,
    TAKES_UNKNOWN,
};

// The options that sbatch passes to getopt_long(3); a test compares them with the installed sbatch. `:` marks a value,
// `::` an optional value.
static const char short_options[] = "A:a:b:D:M:C:S:c:d:m:e:x:B:G:hHi:J:L:k::F:w:N:n:o:Osp:q:Qt:vVW";

// Long options of sbatch 22.05 and later without a value, or with an optional value after `=`.
static const char without_word[] =
    "contiguous exclusive get-user-env help hold ignore-pbs nice no-kill no-requeue oom-kill-step overcommit "
    "oversubscribe parsable propagate quiet reboot requeue spread-job stepmgr test-only usage use-min-nodes "
    "verbose version wait";

// Long options of sbatch 22.05 and later with a value.
static const char with_word[] =
    "account acctg-freq array batch bb bbf begin chdir cluster cluster-constraint clusters comment constraint "
    "container container-id context core-spec cores-per-socket cpu-freq cpus-per-gpu cpus-per-task deadline "
    "delay-boot dependency distribution error exclude export export-file extra extra-node-info gid gpu-bind "
    "gpu-freq gpus gpus-per-node gpus-per-socket gpus-per-task gres gres-flags hint input job-name "
    "kill-on-invalid-dep licenses mail-type mail-user mcs-label mem mem-bind mem-per-cpu mem-per-gpu mincpus "
    "network nodefile nodelist nodes ntasks ntasks-per-core ntasks-per-gpu ntasks-per-node ntasks-per-socket "
    "ntasks-per-tres open-mode output partition power prefer priority profile qos reprise reservation segment "
    "signal sockets-per-node switches tasks-per-node thread-spec threads-per-core time time-min tmp tres-bind "
    "tres-per-task uid wait-all-nodes wckey wrap";

// Match a name as getopt_long(3) does: exactly, or as a prefix. All options that begin with a prefix must agree on
// whether they take the next word.
static enum takes long_option_takes(const char *name, size_t length)
{
    static const char *const lists[] = {[TAKES_NOTHING] = without_word, [TAKES_WORD] = with_word};
    enum takes found = TAKES_UNKNOWN;
    bool ambiguous = false;
    for (enum takes takes = TAKES_NOTHING; takes <= TAKES_WORD; takes++) {
        for (const char *known = lists[takes]; *known; known += strspn(known, " ")) {
            size_t known_length = strcspn(known, " ");
            if (length == known_length && strncmp(known, name, length) == 0) {
                return takes;
            }
            if (length < known_length && strncmp(known, name, length) == 0) {
                ambiguous = ambiguous || (found != TAKES_UNKNOWN && found != takes);
                found = takes;
            }
            known += known_length;
        }
    }
    return ambiguous ? TAKES_UNKNOWN : found;
}

// Return whether a group of short options takes the next word as a value. `cluster` is the group without its dash: HN2
// for -HN2.
static enum takes cluster_takes(const char *cluster)
{
    for (; *cluster; cluster++) {
        const char *known = *cluster == ':' ? NULL : strchr(short_options, *cluster);
        if (!known) {
            return TAKES_UNKNOWN;
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

struct sbatch_words sbatch_read_words(size_t argc, char *const *argv)
{
    struct sbatch_words words = {0};
    size_t i = 1;
    while (i < argc) {
        const char *word = argv[i];
        if (word[0] != '-' || word[1] == '\0') {
            words.script = strcmp(word, ":") == 0 ? 0 : i;
            break;
        }
        if (strcmp(word, "--") == 0) {
            words.script = i + 1 < argc ? i + 1 : 0;
            break;
        }
        enum takes takes = word_takes(word);
        if (takes == TAKES_UNKNOWN || is_long(word, "wrap", 2)) {
            break;
        }
        const char *directory = directory_in(word, i + 1 < argc ? argv[i + 1] : NULL);
        words.directory = directory ? directory : words.directory;
        i += takes == TAKES_WORD ? 2 : 1;
    }
    return words;
}
