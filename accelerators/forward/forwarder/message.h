// SPDX-License-Identifier: Apache-2.0
// Messages in memory, shared by reference counts: a Twrite's buffer is also its place in the cache.
#ifndef FORWARDER_MESSAGE_H
#define FORWARDER_MESSAGE_H

#include <stdint.h>

struct message {
    uint32_t references;
    uint32_t length; // bytes in use, the same as the message's size field
    uint8_t bytes[];
};

// Return a message of `length` bytes with one reference, whose size, type and tag are set; NULL without memory. A
// buffer for other data may be shorter than a message's header.
struct message *message_new(uint32_t length, uint8_t type, uint16_t tag);

// Return the same message with one more reference.
struct message *message_share(struct message *message);

// Give up a reference; NULL is allowed.
void message_release(struct message *message);

#endif
