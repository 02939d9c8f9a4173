// SPDX-License-Identifier: Apache-2.0
// The conversation with a forwarder, from the connection to open files. A thread that calls these functions holds the
// link. If a function returns anything but LINK_OK or LINK_REFUSED, the caller must end the session.
#ifndef FORWARD_SESSION_H
#define FORWARD_SESSION_H

#include "link.h"
#include "message.h"

// Send the message that `message` has begun and wait for the reply with this tag. On LINK_OK, `reply` contains the
// fields of the reply, whose type is `type`.
enum link_result session_ask(struct link *link, struct message *message, enum nine_type type, struct message *reply,
                             int64_t deadline_ns);

// Begin a message in the link's buffer.
void session_begin(struct link *link, struct message *message, enum nine_type type);

// Connect to link->address, and agree with the forwarder on the protocol.
enum link_result session_start(struct link *link, int64_t deadline_ns);

// Ask a burst buffer to move all data that the job wrote to it to the file system, and wait until that is done. Ends
// the session's fids.
enum link_result session_begin_drain(struct link *link, int64_t deadline_ns);
enum link_result session_end_drain(struct link *link, int64_t deadline_ns);

// Attach to a prefix, which the forwarder exports under the same path, unless the link is attached already. `root` is
// the inode of the prefix as this node sees it. Returns LINK_REFUSED if the forwarder's directory is another one.
enum link_result session_attach(struct link *link, int prefix, ino_t root, int64_t deadline_ns);

// Return the fid of a prefix's root.
static inline uint32_t session_root(int prefix)
{
    return 1 + (uint32_t)prefix;
}

// Return a fid that is not in use.
uint32_t session_new_fid(struct link *link);

#endif
