// SPDX-License-Identifier: Apache-2.0
// Where sbatch's options end, and its script begins.
#ifndef REPRISE_SBATCH_OPTIONS_H
#define REPRISE_SBATCH_OPTIONS_H

#include <stddef.h>

// The index in `argv` of the batch script; 0 if there is none (--wrap, standard input), or if an option that we do not
// know comes before it, so that nobody could tell whether the next word is its value.
size_t sbatch_script_index(size_t argc, char *const *argv);

#endif
