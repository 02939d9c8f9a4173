// SPDX-License-Identifier: Apache-2.0
// A library to preload into sbatch. It prints the table of options that sbatch passes to getopt_long(3), and exits.
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>

int getopt_long(int argc, char *const *argv, const char *short_options, const struct option *option, int *index)
{
    (void)argc;
    (void)argv;
    (void)index;
    printf("%s\n", short_options);
    for (; option->name; option++) {
        printf("%s %d\n", option->name, option->has_arg);
    }
    exit(0);
}
