// SPDX-License-Identifier: Apache-2.0
// Messages between the forwarder and the council, each a line of JSON: docs/reference/forwarder.md has their keys.
#ifndef FORWARDER_ANNOUNCEMENT_H
#define FORWARDER_ANNOUNCEMENT_H

#include "forwarder.h"

#define NONCE_BYTES 17 // with the NUL

// The window that the council has chosen.
struct decision {
    uint64_t number; // higher than that of earlier decisions
    uint32_t window_us;
    uint32_t keep_us; // in force if no further decision arrives
};

// Make a random text that a council must repeat, so that an old decision is not taken for a new one. Return 0; -1 with
// errno.
int announcement_nonce(char nonce[NONCE_BYTES]);

// Return a report on the time since `load_begin`, without a newline, to be freed; NULL without memory.
char *announcement_report(const struct forwarder *forwarder, const char *nonce, uint64_t now_ns);

// Read a decision with the expected nonce. Return 0; -1 if the line is anything else.
int announcement_decision(const char *line, const char *nonce, struct decision *decision);

#endif
