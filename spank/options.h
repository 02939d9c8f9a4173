// SPDX-License-Identifier: Apache-2.0
// The option --reprise and its twin in the environment, REPRISE.
#ifndef REPRISE_OPTIONS_H
#define REPRISE_OPTIONS_H

#include <slurm/spank.h>
#include <stdbool.h>

#include "mode.h"

#define OPTION_VALUES "on, off, observe, explain or profile"

// Called with the value of an option that is none of OPTION_VALUES.
typedef void options_refuse(const char *value);

// Register --reprise; only from slurm_spank_init. Slurm calls `refuse` at most once a wrong value.
void options_register(spank_t spank, options_refuse *refuse);

// What holds for this job: the option, else the environment's word (NULL: not set), else the site's default. A word
// that is no mode is passed over, and `*ignored` set.
enum mode options_mode(const char *twin, enum mode site_default, bool *ignored);

#endif
