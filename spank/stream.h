// SPDX-License-Identifier: Apache-2.0
// Sends and receives frames over a non-blocking stream socket, within a deadline.
#ifndef REPRISE_STREAM_H
#define REPRISE_STREAM_H

#include <stddef.h>
#include <stdint.h>

#include "deadline.h"
#include "result.h"

// Return `fd` or, if it is a standard descriptor, close it and return a copy above the standard descriptors. Without
// the copy, the output of a process that has closed its standard descriptors could go to the peer. Returns -1 if no
// descriptor is left.
int stream_above_standard(int fd);

// Send a header and a body in one call: two calls would wake the peer twice.
enum client_result stream_send(int fd, const unsigned char *header, size_t header_size, const char *body, size_t size,
                               nanoseconds deadline);

// Receive exactly `size` bytes. Returns CLIENT_BROKEN if the peer closes the connection earlier.
enum client_result stream_receive(int fd, char *bytes, size_t size, nanoseconds deadline);

// Send a frame: a header and `size` bytes.
enum client_result stream_send_frame(int fd, const char *body, size_t size, nanoseconds deadline);

// Read a frame of 1 to `limit` bytes. On CLIENT_OK, `*body` holds `*size` bytes and a NUL after them; the caller must
// free it. On failure, `*body` is unchanged.
enum client_result stream_receive_frame(int fd, size_t limit, nanoseconds deadline, char **body, size_t *size);

#endif
