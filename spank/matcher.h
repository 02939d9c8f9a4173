// SPDX-License-Identifier: Apache-2.0
// Where the matcher may be, in the order in which it is asked there, and how it is known over TCP.
#ifndef REPRISE_MATCHER_H
#define REPRISE_MATCHER_H

#include <stddef.h>
#include <sys/types.h>

#include "endpoint.h"

struct matcher {
    size_t count;
    struct endpoint endpoints[ENDPOINTS_MAX];
    uid_t uid;                                                    // that it runs as
    char munge_socket[sizeof((struct sockaddr_un *)0)->sun_path]; // "": where libmunge expects it
};

#endif
