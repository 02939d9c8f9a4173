// SPDX-License-Identifier: Apache-2.0
// One request and one reply, with the first daemon that answers, within one deadline.
#ifndef REPRISE_CLIENT_H
#define REPRISE_CLIENT_H

#include <stddef.h>

#include "deadline.h"
#include "matcher.h"
#include "result.h"

// Send `size` bytes as a frame to one endpoint after the other until one answers, and read the frame that comes back.
// Each endpoint has an even share of what is left until `deadline`. With CLIENT_OK, `*reply` holds `*reply_size` bytes
// and is the caller's to free; otherwise it is NULL, and the result is the last endpoint's.
enum client_result client_exchange(const struct matcher *matcher, nanoseconds deadline, const char *request,
                                   size_t size, char **reply, size_t *reply_size);

#endif
