// SPDX-License-Identifier: Apache-2.0
// The matcher's endpoints, in the order in which the plugin tries them, and the matcher's user and credentials, which
// prove its identity over TCP.
#ifndef REPRISE_MATCHER_H
#define REPRISE_MATCHER_H

#include <stddef.h>
#include <sys/types.h>

#include "credential.h"
#include "endpoint.h"

struct matcher {
    size_t count;
    struct endpoint endpoints[ENDPOINTS_MAX];
    uid_t uid; // user id of the matcher
    struct credential_settings credential;
};

#endif
