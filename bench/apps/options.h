// SPDX-License-Identifier: Apache-2.0
// The command line of the mini-applications.
#ifndef OPTIONS_H
#define OPTIONS_H

enum {
    OPTIONS_CLASSES = 3,
    OPTIONS_PROBLEM_BYTES = 128,
};

// A problem that is known by a letter.
struct problem_class {
    char name;
    long size;
    long iterations;
};

// What an application takes. Class S is the default.
struct takes {
    struct problem_class classes[OPTIONS_CLASSES];
    long size_min;
    long size_max;
};

struct options {
    long size;
    long iterations;
    unsigned long seed;
};

// Returns 0; or -1, and then `problem` is a sentence without the program's name.
int options_read(int argc, char **argv, const struct takes *takes, struct options *options,
                 char problem[OPTIONS_PROBLEM_BYTES]);

#endif
