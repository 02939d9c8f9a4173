// SPDX-License-Identifier: Apache-2.0
// The socket of a connection to a forwarder. All functions make system calls directly, so they leave errno alone, raise
// no signal and are not cancellation points. A thread that calls them holds the link, except where stated.
#ifndef FORWARD_LINK_H
#define FORWARD_LINK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/uio.h>

#include "state.h"

// Result of an exchange with a forwarder.
enum link_result {
    LINK_OK,
    LINK_REFUSED, // the forwarder answered that it cannot; the connection is still good
    LINK_ENDED,   // the forwarder closed the connection, or sent nonsense
    LINK_LOST,    // the forwarder did not answer in time, or its node cannot be reached
};

// Return the address of a byte in a buffer of the program, which may be no valid address at all.
static inline void *link_at(void *buffer, size_t inside)
{
    return (void *)((uintptr_t)buffer + inside);
}

// Connect to the link's address. The deadline is a time of clock_now_ns.
enum link_result link_open(struct link *link, int64_t deadline_ns);

// Close the socket, if the descriptor is still the library's.
void link_close(struct link *link);

// Return whether the link's socket is still there. The program may have closed the descriptor or reused its number.
bool link_is_whole(const struct link *link);

// Return whether the forwarder has ended the connection, which a request would notice too.
bool link_is_over(const struct link *link);

// Send all bytes of `count` buffers (which this function changes), or receive exactly `size` bytes.
enum link_result link_send(struct link *link, struct iovec *vectors, int count, int64_t deadline_ns);
enum link_result link_receive(struct link *link, struct iovec *vectors, int count, int64_t deadline_ns);

// Close this end of the connection for sending, and wait until it has closed its end of the connection, because it has
// done what it was asked to do or has ended.
void link_settle(struct link *link, int64_t deadline_ns);

// Return whether a connection has a descriptor from `first` to `last`. May be called by any thread.
bool link_has(struct state *state, int first, int last);

// Make any thread that uses a connection with a descriptor from `first` to `last` give it up, because the program is
// about to close it. May be called by any thread.
void link_give_up(struct state *state, int first, int last);

// Close a forked child's copies of its parent's connections.
void link_forget_inherited(void);

#endif
