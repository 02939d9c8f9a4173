// SPDX-License-Identifier: Apache-2.0
// One request and one reply, with the first daemon that answers, within one deadline.
#ifndef REPRISE_CLIENT_H
#define REPRISE_CLIENT_H

#include <stddef.h>

#include "deadline.h"
#include "matcher.h"
#include "result.h"

// Connect to the first endpoint before there is a question, so that the daemon has woken and accepted by then (0.2 ms).
// Never waits, and only tries: over a Unix socket, whose daemon can be seen at once. A child that runs another program
// does not have the connection.
void client_connect_ahead(const struct matcher *matcher);

// Close what client_connect_ahead has opened, unless an exchange took it.
void client_close_ahead(void);

// Send `size` bytes as a frame to one endpoint after the other until one answers, and read the frame that comes back.
// Each endpoint has an even share of what is left until `deadline`. With CLIENT_OK, `*reply` holds `*reply_size` bytes
// and is the caller's to free; otherwise it is NULL, and the result is the last endpoint's.
enum client_result client_exchange(const struct matcher *matcher, nanoseconds deadline, const char *request,
                                   size_t size, char **reply, size_t *reply_size);

#endif
