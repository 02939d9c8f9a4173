// SPDX-License-Identifier: Apache-2.0
// Connects to Unix stream sockets, without blocking.
#ifndef REPRISE_UNIX_SOCKET_H
#define REPRISE_UNIX_SOCKET_H

#include <sys/un.h>

#include "deadline.h"
#include "result.h"

// Return the address of `path`, which must fit into it.
struct sockaddr_un unix_address(const char *path);

// Return a new non-blocking socket above the standard descriptors, or -1.
int unix_open(void);

// Connect to the socket at `path`. Returns CLIENT_OK, CLIENT_ABSENT if nothing accepts connections there, or
// CLIENT_LATE.
enum client_result unix_connect(int fd, const char *path, nanoseconds deadline);

#endif
