// SPDX-License-Identifier: Apache-2.0
// Files that are open on a forwarder. A thread that calls these functions holds the link.
#ifndef FORWARD_REMOTE_H
#define FORWARD_REMOTE_H

#include "session.h"
#include "target.h"

// Return the file if it is open on the forwarder for what the request does, otherwise NULL.
struct remote_file *remote_find(struct link *link, const struct stat *status, bool writing);

// Open the file of a descriptor on the forwarder. Returns LINK_REFUSED if the forwarder's file of this path is another
// one or cannot be opened; the file is then shunned.
enum link_result remote_open(struct state *state, struct link *link, int fd, const struct target *target, bool writing,
                             struct remote_file **file, int64_t deadline_ns);

// Make a burst buffer write all delayed data of a descriptor's file to the file system, whoever wrote them.
enum link_result remote_settle(struct state *state, struct link *link, int fd, const struct target *target,
                               int64_t deadline_ns);

// Close a file on the forwarder. If it is dirty, its debt is remembered.
enum link_result remote_close(struct state *state, struct link *link, struct remote_file *file, int64_t deadline_ns);

// Make the forwarder write a file to its disk.
enum link_result remote_sync(struct link *link, struct remote_file *file, bool only_data, int64_t deadline_ns);

// Close the connection. Its dirty files become debts, which are lost if `result` is LINK_LOST.
void remote_end(struct state *state, struct link *link, enum link_result result);

#endif
