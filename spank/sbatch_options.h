// SPDX-License-Identifier: Apache-2.0
// Where sbatch's options end, and its script begins.
#ifndef REPRISE_SBATCH_OPTIONS_H
#define REPRISE_SBATCH_OPTIONS_H

#include <stddef.h>

struct sbatch_words {
    size_t script;         // index in argv of the batch script, 0 if there is none
    const char *directory; // value of -D or --chdir, where sbatch looks for the script first; NULL if not given
};

// Walk over the options of an sbatch command line. No script: --wrap, standard input, a heterogeneous job (after its
// first component comes a `:`), or an option that we do not know comes before it, so that nobody could tell whether the
// next word is its value.
struct sbatch_words sbatch_read_words(size_t argc, char *const *argv);

#endif
