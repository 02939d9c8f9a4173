// SPDX-License-Identifier: Apache-2.0
// The command line of the mini-applications, and what comes of it.
#ifndef APPLICATION_H
#define APPLICATION_H

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

// An application. `refuse` leaves `problem` empty, or says why so many ranks cannot have this; `run` returns its
// status.
struct application {
    const char *name;
    struct takes takes;
    void (*refuse)(const struct options *options, int ranks, char problem[OPTIONS_PROBLEM_BYTES]);
    int (*run)(const struct options *options, int rank, int ranks);
};

// All of `main`: 2 for what is refused, which rank 0 says in a line.
int application_main(int argc, char **argv, const struct application *application);

#endif
