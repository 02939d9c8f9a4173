// SPDX-License-Identifier: Apache-2.0
// The command line.
#ifndef OPTIONS_H
#define OPTIONS_H

#include <stdint.h>

#include "number.h"
#include "pattern.h"

enum mode {
    MODE_READ,
    MODE_CREATE, // the file, and nothing else
    MODE_SHOW,   // the reads, without reading
    MODE_HELP,
};

struct options {
    enum mode mode;
    const char *file;
    uint64_t size; // bytes of the file; 0: its present size
    struct pattern pattern;
    unsigned long seed;
    uint64_t compute_us; // after each read
    uint64_t share;      // this program's part of the leads, counted from 1
    uint64_t shares;
    int cold;
    int verify;
};

extern const char OPTIONS_HELP[];

// Returns 0, or -1 with a sentence in `problem` that does not contain the program's name.
int options_read(int argc, char **argv, struct options *options, char problem[PROBLEM_BYTES]);

#endif
