// SPDX-License-Identifier: Apache-2.0
// A link: one socket that carries whole messages both ways, without blocking.
#ifndef FORWARDER_LINK_H
#define FORWARDER_LINK_H

#include <event2/event.h>
#include <stdbool.h>
#include <stddef.h>

#include "limits.h"
#include "message.h"

struct link;

struct link_owner {
    void (*received)(struct link *link, struct message *message); // takes over the message
    void (*ended)(struct link *link, const char *why);            // called once, from the event loop
    void (*drained)(struct link *link);                           // the queue fell below its limit; may be NULL
};

struct link_part {
    const uint8_t *bytes;
    size_t length;
    struct message *owner; // holds the bytes; one reference is given up when they are sent
};

struct link {
    int fd; // -1 if closed
    const struct link_owner *owner;
    struct event *readable;
    struct event *writable;
    uint32_t largest; // a larger message ends the link
    struct message *partial;
    uint32_t got; // bytes of `partial`
    uint8_t staged[STAGED_BYTES];
    uint32_t staged_bytes;
    struct link_part *queue; // ring of parts to send
    size_t room;
    size_t first;
    size_t count;
    size_t queued_bytes;
    bool paused;
    bool failed;
    bool malformed;  // it failed because of what was received
    const char *why; // reason of the failure
};

// Start a link over `fd`, which it closes. Return 0; -1 without memory, with `fd` closed.
int link_start(struct link *link, struct event_base *base, int fd, const struct link_owner *owner, uint32_t largest);

// Send a message; take over its reference.
void link_send(struct link *link, struct message *message);

// Send parts in one go; take over the reference of each part's owner.
void link_send_parts(struct link *link, const struct link_part *parts, size_t count);

// Stop, or resume, reading from the socket.
void link_pause(struct link *link, bool paused);

// Make the link end for a reason that is text of this program; `ended` is called from the event loop.
void link_fail(struct link *link, const char *why);

// Close the link without a call of `ended`.
void link_stop(struct link *link);

#endif
