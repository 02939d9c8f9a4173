// SPDX-License-Identifier: Apache-2.0
#include "layout.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "limits.h"

#define STRIPE "stripe:"
#define MAP "map:"

int layout_read(struct layout *layout, const char *rule)
{
    layout->stripe_bytes = 0;
    layout->map_path = NULL;
    if (!strcmp(rule, "file")) {
        return 0;
    }
    if (!strncmp(rule, MAP, strlen(MAP)) && rule[strlen(MAP)]) {
        layout->map_path = rule + strlen(MAP);
        return 0;
    }
    if (strncmp(rule, STRIPE, strlen(STRIPE)) != 0) {
        return -1;
    }
    const char *digits = rule + strlen(STRIPE);
    if (!*digits || strspn(digits, "0123456789") != strlen(digits)) {
        return -1;
    }
    errno = 0;
    const unsigned long long bytes = strtoull(digits, NULL, 10);
    if (errno || bytes < STRIPE_BYTES_MIN || bytes > STRIPE_BYTES_MAX) {
        return -1;
    }
    layout->stripe_bytes = bytes;
    return 0;
}

unsigned layout_server(const struct layout *layout, uint64_t file, uint64_t offset)
{
    unsigned server;
    if (layout->map && layout_map_find(layout->map, file, offset, &server)) {
        return server;
    }
    // The remainders are added, because the sum of the numbers themselves could exceed 64 bits.
    const uint64_t first = file % layout->servers;
    const uint64_t stripe = layout->stripe_bytes ? offset / layout->stripe_bytes % layout->servers : 0;
    return (unsigned)((first + stripe) % layout->servers);
}
