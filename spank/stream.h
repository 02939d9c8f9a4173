// SPDX-License-Identifier: Apache-2.0
// Frames over a stream socket that does not block, within a deadline.
#ifndef REPRISE_STREAM_H
#define REPRISE_STREAM_H

#include <stddef.h>
#include <stdint.h>

#include "deadline.h"
#include "result.h"

// `fd`, or a copy of it above the standard descriptors (the original is closed): where the caller has closed those,
// whatever it prints would go to the peer. -1 if there is none left.
int stream_above_standard(int fd);

// Send a header and `size` bytes.
enum client_result stream_send_frame(int fd, const char *body, size_t size, nanoseconds deadline);

// Read a frame of 1 to `limit` bytes. With CLIENT_OK, `*body` holds `*size` bytes and a NUL after them, and is the
// caller's to free; otherwise it is left as it is.
enum client_result stream_receive_frame(int fd, size_t limit, nanoseconds deadline, char **body, size_t *size);

#endif
