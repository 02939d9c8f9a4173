// SPDX-License-Identifier: Apache-2.0
// Moves the bytes of a call between the program's buffers and a forwarder.
#ifndef FORWARD_TRANSFER_H
#define FORWARD_TRANSFER_H

#include "session.h"
#include "target.h"

// Move `bytes` bytes of a request, which begin at `start` in the file, in several requests at once. The first `moved`
// bytes are left out. Returns how many bytes from the beginning are known to have been moved. `result` is LINK_REFUSED
// if the forwarder moved fewer bytes than it was asked for. The forwarder may take `patience_ns` for each request, and
// BYTE_NS more for each byte of all.
size_t transfer(struct link *link, const struct remote_file *file, const struct request *request, int64_t start,
                size_t bytes, size_t moved, int64_t patience_ns, enum link_result *result);

// Describe the program's buffers from a place on, for at most *bytes bytes, in `vectors`. Reduces *bytes if that needs
// more than VECTORS_MAX buffers. Returns the number of buffers.
int transfer_gather(const struct request *request, int vector, size_t inside, size_t *bytes, struct iovec *vectors);

#endif
