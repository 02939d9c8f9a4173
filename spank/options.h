// SPDX-License-Identifier: Apache-2.0
// The option --reprise and the environment variable REPRISE, which has the same meaning.
#ifndef REPRISE_OPTIONS_H
#define REPRISE_OPTIONS_H

#include <slurm/spank.h>
#include <stdbool.h>

#include "mode.h"

#define OPTION_VALUES "on, off, observe, explain or profile"

// Called with an option value that is not one of OPTION_VALUES.
typedef void options_refuse(const char *value);

// Register --reprise; call only from slurm_spank_init. The option's callback calls `refuse` for a wrong value in a
// user's command.
void options_register(spank_t spank, options_refuse *refuse);

// Return the mode of this job: that of the option, else that of the environment variable (`twin` is its value, or
// NULL), else the site's default. A value that is not a mode is ignored, and `*ignored` is set.
enum mode options_mode(const char *twin, enum mode site_default, bool *ignored);

#endif
