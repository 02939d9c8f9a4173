// SPDX-License-Identifier: Apache-2.0
// Drives the measurement of the load with a made-up clock. Reads one command a line; times are in ns:
//   begin NOW
//   arrived BYTES NOW
//   ended BYTES NOW
//   served BYTES
//   measure NOW         print seconds, bytes, MB/s, and the load in MB/s or "none"
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "load.h"

static struct load load;

static void measure(uint64_t now_ns)
{
    const struct load_measured measured = load_measure(&load, now_ns);
    printf("%.9g %" PRIu64 " %.9g ", measured.seconds, measured.bytes, measured.bandwidth);
    if (measured.has_load) {
        printf("%.9g\n", measured.load);
    } else {
        puts("none");
    }
}

int main(void)
{
    char line[100];
    char name[20];
    while (fgets(line, sizeof line, stdin)) {
        uint64_t words[2] = {0};
        const int found = sscanf(line, "%19s %" SCNu64 " %" SCNu64, name, &words[0], &words[1]);
        if (found == 3 && !strcmp(name, "arrived")) {
            load_arrived(&load, (uint32_t)words[0], words[1]);
        } else if (found == 3 && !strcmp(name, "ended")) {
            load_ended(&load, (uint32_t)words[0], words[1]);
        } else if (found == 2 && !strcmp(name, "served")) {
            load_served(&load, words[0]);
        } else if (found == 2 && !strcmp(name, "begin")) {
            load_begin(&load, words[0]);
        } else if (found == 2 && !strcmp(name, "measure")) {
            measure(words[0]);
        } else {
            fprintf(stderr, "cannot play: %s", line);
            return EXIT_FAILURE;
        }
    }
    return EXIT_SUCCESS;
}
