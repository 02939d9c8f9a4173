// SPDX-License-Identifier: Apache-2.0
// The command line of fakeapp.
#ifndef OPTIONS_H
#define OPTIONS_H

#include <stdint.h>

#include "number.h"
#include "pattern.h"

enum mode {
    MODE_READ,
    MODE_CREATE, // create the file and read nothing
    MODE_SHOW,   // list the reads without making them
    MODE_HELP,
};

struct options {
    enum mode mode;
    const char *file;
    uint64_t size; // size of the file in bytes; 0: its current size
    struct pattern pattern;
    unsigned long seed;
    uint64_t compute_us; // microseconds of computation after each read
    uint64_t share;      // number of the part of the leads that this program reads, from 1 to `shares`
    uint64_t shares;
    int cold;
    int verify;
};

extern const char OPTIONS_HELP[];

// Read the command line. Return 0, or -1 with a message in `problem` that does not contain the program's name.
int options_read(int argc, char **argv, struct options *options, char problem[PROBLEM_BYTES]);

#endif
