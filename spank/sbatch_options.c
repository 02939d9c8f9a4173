// SPDX-License-Identifier: Apache-2.0
#include "sbatch_options.h"

#include <stdbool.h>
#include <string.h>

// What an option takes from the word after it.
enum takes {
    TAKES_NOTHING,
    TAKES_WORD,
    TAKES_UNKNOWN,
};

// What sbatch gives to getopt_long(3); a test asks the installed sbatch. `:` a value, `::` perhaps one.
static const char short_options[] = "A:a:b:D:M:C:S:c:d:m:e:x:B:G:hHi:J:L:k::F:w:N:n:o:Osp:q:Qt:vVW";

// Long options, of 22.05 and those that came later: with no value, or only with one after a `=`.
static const char *const without_word[] = {
    "contiguous",    "exclusive",  "get-user-env",  "help",       "hold",          "ignore-pbs", "nice",
    "no-kill",       "no-requeue", "oom-kill-step", "overcommit", "oversubscribe", "parsable",   "propagate",
    "quiet",         "reboot",     "requeue",       "spread-job", "stepmgr",       "test-only",  "usage",
    "use-min-nodes", "verbose",    "version",       "wait",
};

// Long options with a value.
static const char *const with_word[] = {
    "account",
    "acctg-freq",
    "array",
    "batch",
    "bb",
    "bbf",
    "begin",
    "chdir",
    "cluster",
    "cluster-constraint",
    "clusters",
    "comment",
    "constraint",
    "container",
    "container-id",
    "context",
    "core-spec",
    "cores-per-socket",
    "cpu-freq",
    "cpus-per-gpu",
    "cpus-per-task",
    "deadline",
    "delay-boot",
    "dependency",
    "distribution",
    "error",
    "exclude",
    "export",
    "export-file",
    "extra",
    "extra-node-info",
    "gid",
    "gpu-bind",
    "gpu-freq",
    "gpus",
    "gpus-per-node",
    "gpus-per-socket",
    "gpus-per-task",
    "gres",
    "gres-flags",
    "hint",
    "input",
    "job-name",
    "kill-on-invalid-dep",
    "licenses",
    "mail-type",
    "mail-user",
    "mcs-label",
    "mem",
    "mem-bind",
    "mem-per-cpu",
    "mem-per-gpu",
    "mincpus",
    "network",
    "nodefile",
    "nodelist",
    "nodes",
    "ntasks",
    "ntasks-per-core",
    "ntasks-per-gpu",
    "ntasks-per-node",
    "ntasks-per-socket",
    "ntasks-per-tres",
    "open-mode",
    "output",
    "partition",
    "power",
    "prefer",
    "priority",
    "profile",
    "qos",
    "reprise",
    "reservation",
    "segment",
    "signal",
    "sockets-per-node",
    "switches",
    "tasks-per-node",
    "thread-spec",
    "threads-per-core",
    "time",
    "time-min",
    "tmp",
    "tres-bind",
    "tres-per-task",
    "uid",
    "wait-all-nodes",
    "wckey",
    "wrap",
};

struct kind {
    enum takes takes;
    const char *const *names;
    size_t count;
};

#define KIND(takes, names)                                                                                             \
    {                                                                                                                  \
        takes, names, sizeof names / sizeof *names                                                                     \
    }
static const struct kind kinds[] = {
    KIND(TAKES_NOTHING, without_word),
    KIND(TAKES_WORD, with_word),
};

// As getopt_long(3) reads a name: exactly, or as the beginning of others that all take the same.
static enum takes long_option_takes(const char *name, size_t length)
{
    enum takes found = TAKES_UNKNOWN;
    bool ambiguous = false;
    for (size_t k = 0; k < sizeof kinds / sizeof *kinds; k++) {
        for (size_t i = 0; i < kinds[k].count; i++) {
            const char *known = kinds[k].names[i];
            if (strncmp(known, name, length) != 0) {
                continue;
            }
            if (known[length] == '\0') {
                return kinds[k].takes;
            }
            ambiguous = ambiguous || (found != TAKES_UNKNOWN && found != kinds[k].takes);
            found = kinds[k].takes;
        }
    }
    return ambiguous ? TAKES_UNKNOWN : found;
}

// A cluster such as -HN2, without its dash: what its last option takes from the next word.
static enum takes cluster_takes(const char *cluster)
{
    for (; *cluster; cluster++) {
        const char *known = *cluster == ':' ? NULL : strchr(short_options, *cluster);
        if (!known) {
            return TAKES_UNKNOWN;
        }
        if (known[1] == ':') { // the rest of the word is its value
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
        return TAKES_NOTHING; // its value is in the word, whatever the option is
    }
    return long_option_takes(word + 2, length);
}

static bool is_wrap(const char *word)
{
    size_t length = strcspn(word, "=");
    return length > 3 && length <= 6 && strncmp(word, "--wrap", length) == 0;
}

size_t sbatch_script_index(size_t argc, char *const *argv)
{
    size_t i = 1;
    while (i < argc) {
        const char *word = argv[i];
        if (word[0] != '-' || word[1] == '\0') {
            return i;
        }
        if (strcmp(word, "--") == 0) {
            return i + 1 < argc ? i + 1 : 0;
        }
        enum takes takes = word_takes(word);
        if (takes == TAKES_UNKNOWN || is_wrap(word)) {
            return 0;
        }
        i += takes == TAKES_WORD ? 2 : 1;
    }
    return 0;
}
