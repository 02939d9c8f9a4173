// SPDX-License-Identifier: Apache-2.0
// Exchanges one request and one reply with the first daemon that answers, within one deadline.
#ifndef REPRISE_CLIENT_H
#define REPRISE_CLIENT_H

#include <stddef.h>

#include "deadline.h"
#include "matcher.h"
#include "result.h"

// Connect to the first endpoint before there is a request, so that the daemon has already woken up and accepted the
// connection when the request is sent (saves 0.2 ms). Never waits, and does nothing if that endpoint is not a Unix
// socket or does not accept at once. The connection is close-on-exec.
void client_connect_ahead(const struct matcher *matcher);

// Close the connection that client_connect_ahead opened, unless an exchange has used it.
void client_close_ahead(void);

// Send `size` bytes as a frame to one endpoint after the other until one answers, and read the frame that it returns.
// Each endpoint gets an equal share of the time left until `deadline`. On CLIENT_OK, `*reply` holds `*reply_size`
// bytes; the caller must free it. On failure, `*reply` is NULL, and the result is that of the last endpoint.
enum client_result client_exchange(const struct matcher *matcher, nanoseconds deadline, const char *request,
                                   size_t size, char **reply, size_t *reply_size);

#endif
