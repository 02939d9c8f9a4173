// SPDX-License-Identifier: Apache-2.0
// Finds where the options of sbatch end and its script begins.
#ifndef REPRISE_SBATCH_OPTIONS_H
#define REPRISE_SBATCH_OPTIONS_H

#include <stdbool.h>
#include <stddef.h>

struct sbatch_words {
    size_t script;         // index in argv of the batch script, 0 if there is none
    const char *directory; // value of -D or --chdir, where sbatch looks for the script first; NULL if not given
};

// `is_script` returns whether `word` names a batch script; its first argument is `context`, and `directory` is the
// value of --chdir, or NULL.
struct script_lookup {
    bool (*is_script)(const void *context, const char *word, const char *directory);
    const void *context;
};

// Parse the options of an sbatch command line. No script is returned for --wrap, for a script on standard input, for a
// heterogeneous job (a `:` follows its first component), or after an unknown short option. The word after an unknown
// long option (of another plugin, or of a newer Slurm) is the script if `lookup` returns true for it, and otherwise the
// option's value.
struct sbatch_words sbatch_read_words(size_t argc, char *const *argv, const struct script_lookup *lookup);

#endif
