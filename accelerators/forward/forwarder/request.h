// SPDX-License-Identifier: Apache-2.0
// A request in service: from the client's message to the reply.
#ifndef FORWARDER_REQUEST_H
#define FORWARDER_REQUEST_H

#include "session.h"

enum request_state {
    REQUEST_BLOCKED, // an earlier request of its fid must end first
    REQUEST_QUEUED,  // at the scheduler
    REQUEST_HELD,    // in the cache's hands
    REQUEST_SENT,    // at diod
};

struct snapshot;

struct request {
    struct scheduled scheduled; // first, so that it can be converted
    struct session *session;
    struct message *message;
    uint8_t type;
    uint16_t tag;
    uint16_t upstream_tag; // NO_TAG unless it was sent
    enum request_state state;
    bool is_ordered; // it is in its fid's list
    bool is_checked; // the cache has let it pass
    bool is_proved;  // of a Tattach: it refers to a credential
    bool drains;     // of a Tversion: the reply waits for all delayed writes
    struct fid *fid;
    struct fid *created; // by this request
    uint64_t offset;
    uint32_t bytes;
    struct request *tag_next;
    struct request *order_next;
    struct request *order_previous;
    unsigned blockers;
    struct request *released; // list of requests that become ready together
    struct request *flushed;  // of a Tflush: the request that it cancels; NULL if that has ended
    struct request *flushes;  // list of Tflush requests that wait for this one's end
    struct request *flush_next;
    struct waiter *waiter;     // in the cache
    struct file *held_by;      // that is being opened
    struct request *held_next; // in its list
    bool was_held;
    struct piece *piece;       // delayed write that is being journaled
    struct closing *closing;   // a Tclunk that waits for an fsync
    uint32_t late_error;       // error of delayed writes, for the reply of a Tclunk
    struct snapshot *snapshot; // delayed writes that a read must see
    uint64_t cached_end;       // end of the delayed writes when it was sent
};

// Return a new request with the session's counts updated; NULL without memory.
struct request *request_new(struct session *session, struct message *message);

// Return the request with a client's tag; NULL if there is none.
struct request *request_find(const struct session *session, uint16_t tag);

// Count a valid read or write that has arrived in its job's access pattern; other requests are left out.
void request_count(struct request *request);

// Continue after the requests before it: to the cache, the scheduler, or diod.
void request_proceed(struct request *request);

// Send to diod, by way of the scheduler for a read or a write.
void request_go(struct request *request);

// End with a reply, which it takes over; without a reply, the client gets none.
void request_end(struct request *request, struct message *reply);

// End with an error number.
void request_fail(struct request *request, uint32_t error);

// Take over a reply of diod.
void request_replied(struct request *request, struct message *reply);

#endif
