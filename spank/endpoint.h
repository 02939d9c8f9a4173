// SPDX-License-Identifier: Apache-2.0
// The address at which a daemon listens: `unix:/path`, `tcp:host:port` or `tcp:[address]:port`.
#ifndef REPRISE_ENDPOINT_H
#define REPRISE_ENDPOINT_H

#include <stddef.h>
#include <sys/un.h>

#include "limits.h"

enum endpoint_kind { ENDPOINT_UNIX, ENDPOINT_TCP };

struct endpoint {
    enum endpoint_kind kind;
    char text[ENDPOINT_MAX + 1]; // text as configured, for use in messages
    char path[sizeof((struct sockaddr_un *)0)->sun_path];
    char host[HOST_MAX + 1];
    char port[6];
};

// Parse an endpoint. Returns 0, or -1 if the text is not an endpoint.
int endpoint_parse(struct endpoint *endpoint, const char *text);

#endif
