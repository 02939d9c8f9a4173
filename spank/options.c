// SPDX-License-Identifier: Apache-2.0
#include "options.h"

#include <stddef.h>

// The callback gets no pointer of ours, so what it learns has to live here.
static enum mode chosen = MODE_UNSET;
static options_refuse *refuse_value;

// Slurm calls this for each place that the option is given in, the strongest last. Only a wrong value in a user's
// command may fail it; in slurmstepd the value comes from the job's environment and must not hurt the job.
static int take_value(int value, const char *argument, int remote)
{
    (void)value;
    enum mode mode = mode_from_word(argument);
    if (mode != MODE_UNSET) {
        chosen = mode;
        return 0;
    }
    if (remote) {
        return 0;
    }
    refuse_value(argument ? argument : "");
    return -1;
}

void options_register(spank_t spank, options_refuse *refuse)
{
    static char name[] = "reprise";
    static char argument[] = "on|off|observe|explain|profile";
    static char usage[] = "[reprise] give the job the best settings known for jobs like it: yes, no, only watch, "
                          "yes and say what is given, or yes and profile the job (reprise jobs profile JOB)";
    struct spank_option option = {
        .name = name, .arginfo = argument, .usage = usage, .has_arg = 1, .val = 0, .cb = take_value};
    refuse_value = refuse;
    spank_option_register(spank, &option);
}

enum mode options_mode(const char *twin, enum mode site_default, bool *ignored)
{
    *ignored = false;
    if (chosen != MODE_UNSET) {
        return chosen;
    }
    enum mode mode = mode_from_word(twin);
    if (mode != MODE_UNSET) {
        return mode;
    }
    *ignored = twin && *twin;
    return site_default;
}
