// SPDX-License-Identifier: Apache-2.0
#include "options.h"

#include <stddef.h>

// Slurm passes no pointer of the plugin to the option's callback, so the callback keeps its results here.
static enum mode chosen = MODE_UNSET;
static options_refuse *refuse_value;

// Slurm calls this function once for each place in which the option is set; the place with the highest precedence comes
// last. The function fails only for a wrong value in a user's command. In slurmstepd the value comes from the job's
// environment and must not harm the job.
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
    static char usage[] = "[reprise] run the job with the best settings known for similar jobs: on, off, observe "
                          "(decide but change nothing), explain (on, and print the decision) or profile (on, and "
                          "profile the job; see reprise jobs profile JOB)";
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
