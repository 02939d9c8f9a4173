// SPDX-License-Identifier: Apache-2.0
// The map: a file that lists the forwarders of a job.
//
//   reprise-forwarders 1
//   192.0.2.17:5640
//   [2001:db8::17]:5640
//   /run/forwarder.sock
//
// The first line names the format and its version. Each further line is the address of a forwarder: the numeric address
// of a host and a port, or the absolute path of a Unix socket. Every line ends with a newline; there are no empty
// lines, comments or blanks. A map without addresses means that the job does its own I/O, and so does a map with any
// mistake. Node number N of the job uses the address with index N modulo the number of addresses. Whoever changes a map
// writes a new file and renames it.
#ifndef FORWARD_MAP_H
#define FORWARD_MAP_H

#include <stddef.h>
#include <stdint.h>
#include <sys/socket.h>

#include "limits.h"

#define MAP_FIRST_LINE "reprise-forwarders 1"

// Copy the address that a map gives to a node. Returns the number of addresses in the map (0: `address` is ""); -1 if
// the map has a mistake, and `address` is "" then.
int map_choose(const char *text, size_t size, uint32_t node, char address[ADDRESS_BYTES]);

// Convert an address to that of a socket. Returns its size; 0 if the address is invalid.
socklen_t map_address(const char *address, size_t length, struct sockaddr_storage *to);

#endif
