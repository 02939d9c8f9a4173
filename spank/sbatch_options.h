// SPDX-License-Identifier: Apache-2.0
// Finds where the options of sbatch end and its script begins.
#ifndef REPRISE_SBATCH_OPTIONS_H
#define REPRISE_SBATCH_OPTIONS_H

#include <stddef.h>

struct sbatch_words {
    size_t script;         // index in argv of the batch script, 0 if there is none
    const char *directory; // value of -D or --chdir, where sbatch looks for the script first; NULL if not given
};

// Parse the options of an sbatch command line. No script is returned for --wrap, for a script on standard input, for a
// heterogeneous job (a `:` follows its first component), or after an unknown option, whose value the next word may be.
struct sbatch_words sbatch_read_words(size_t argc, char *const *argv);

#endif
