// SPDX-License-Identifier: Apache-2.0
// A library to preload into sbatch, srun or salloc. It prints the table of options that the command passes to
// getopt_long(3): the short options, then a line `NAME HAS_ARG VALUE` for each long option. Then it ends the process.
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

int getopt_long(int argc, char *const *argv, const char *short_options, const struct option *option, int *index)
{
    (void)argc;
    (void)argv;
    (void)index;
    printf("%s\n", short_options);
    for (; option->name; option++) {
        printf("%s %d %d\n", option->name, option->has_arg, option->val);
    }
    fflush(stdout);
    _exit(0); // the handlers of exit(3) are not needed
}
