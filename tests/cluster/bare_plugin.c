// SPDX-License-Identifier: Apache-2.0
// A minimal plugin, which only registers an option and sets a variable in the job. If valgrind finds a problem in a
// Slurm command that has loaded this plugin, Slurm itself causes the problem.
#include <slurm/spank.h>

SPANK_PLUGIN(bare, 1)

static int take(int value, const char *argument, int remote)
{
    (void)value;
    (void)argument;
    (void)remote;
    return 0;
}

int slurm_spank_init(spank_t spank, int argc, char **argv)
{
    static char name[] = "reprise", argument[] = "word", usage[] = "does nothing";
    struct spank_option option = {.name = name, .arginfo = argument, .usage = usage, .has_arg = 1, .cb = take};
    (void)argc;
    (void)argv;
    spank_option_register(spank, &option);
    return 0;
}

int slurm_spank_init_post_opt(spank_t spank, int argc, char **argv)
{
    (void)argc;
    (void)argv;
    if (spank_context() == S_CTX_ALLOCATOR) {
        spank_job_control_unsetenv(spank, "BARE");
        spank_job_control_setenv(spank, "BARE", "1", 1);
    }
    return 0;
}
