// SPDX-License-Identifier: Apache-2.0
// Exchanges one request and one reply over TCP, each in a credential (docs/reference/protocol.md).
#ifndef REPRISE_TCP_H
#define REPRISE_TCP_H

#include <stddef.h>

#include "deadline.h"
#include "matcher.h"
#include "result.h"

// Exchange a request and a reply as client_exchange does, but with one endpoint.
enum client_result tcp_exchange(const struct matcher *matcher, const struct endpoint *endpoint, nanoseconds deadline,
                                const char *request, size_t size, char **reply, size_t *reply_size);

#endif
