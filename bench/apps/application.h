// SPDX-License-Identifier: Apache-2.0
// The command line and the main function that the mini-applications share.
#ifndef APPLICATION_H
#define APPLICATION_H

enum {
    OPTIONS_CLASSES = 3,
    OPTIONS_PROBLEM_BYTES = 128,
};

// A problem size, identified by a letter as in the NAS benchmarks.
struct problem_class {
    char name;
    long size;
    long iterations;
};

// The problem classes and the range of sizes that an application accepts. Class S is the default.
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

// An application. If the options do not suit the number of ranks, `refuse` writes the reason to `problem`; otherwise,
// `problem` remains empty. `run` returns the exit status.
struct application {
    const char *name;
    struct takes takes;
    void (*refuse)(const struct options *options, int ranks, char problem[OPTIONS_PROBLEM_BYTES]);
    int (*run)(const struct options *options, int rank, int ranks);
};

// Implement an application's main function. Return the exit status. If the options are refused, rank 0 prints the
// reason in one line, and the exit status is 2.
int application_main(int argc, char **argv, const struct application *application);

#endif
