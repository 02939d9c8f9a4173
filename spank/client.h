// SPDX-License-Identifier: Apache-2.0
// One request and one reply over a Unix socket, within one deadline.
#ifndef REPRISE_CLIENT_H
#define REPRISE_CLIENT_H

#include <stddef.h>

#include "deadline.h"

enum client_result {
    CLIENT_OK,
    CLIENT_ABSENT, // nobody listens there, or we may not connect
    CLIENT_LATE,   // the deadline passed
    CLIENT_BROKEN, // the peer closed early, or its answer is not as the protocol says
    CLIENT_FAILED, // this process has no descriptor or memory left
};

// Send `size` bytes as a frame to the socket at `path` and read the frame that comes back. With CLIENT_OK, `*reply`
// holds `*reply_size` bytes and is the caller's to free; otherwise it is NULL.
enum client_result client_exchange(const char *path, nanoseconds deadline, const char *request, size_t size,
                                   char **reply, size_t *reply_size);

#endif
