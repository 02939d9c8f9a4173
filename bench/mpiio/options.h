// SPDX-License-Identifier: Apache-2.0
// The command line of mpiio.
#ifndef OPTIONS_H
#define OPTIONS_H

#include <stdint.h>

#include "layout.h"

enum {
    HINTS_MAX = 16,
};

struct hint {
    char name[64];
    const char *value;
};

struct options {
    const char *file;
    struct shape shape;
    uint64_t steps; // number of dumps, one after the other
    struct hint hints[HINTS_MAX];
    int hint_count;
    int independent;
    int per_process; // each rank has its own file
    int sync;        // the write time includes the flush to disk
    int cold;
    int keep;
    int help;
    uint64_t show; // print each rank's runs of bytes for this number of ranks, and write nothing; 0: write and read
};

extern const char OPTIONS_HELP[];

// Read the command line. Return 0, or -1 with a message in `problem` that does not contain the program's name.
int options_read(int argc, char **argv, struct options *options, char problem[PROBLEM_BYTES]);

#endif
