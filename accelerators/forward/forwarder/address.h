// SPDX-License-Identifier: Apache-2.0
// Addresses of sockets: HOST:PORT, or the path of a Unix socket, which begins with "/".
#ifndef FORWARDER_ADDRESS_H
#define FORWARDER_ADDRESS_H

// Return a listening socket that does not block; -1 with the cause in `*why`. The file of a Unix socket that nobody
// listens on any more is replaced.
int address_listen(const char *address, const char **why);

// Return a socket that connects, or has connected, without blocking; -1 with errno.
int address_connect(const char *address);

// Prepare an accepted socket: small messages leave at once.
void address_tune(int fd);

#endif
