// SPDX-License-Identifier: Apache-2.0
// The forwarder's own connection to diod, as one user of one export, for delayed writes. Clients and their connections
// may end before their data are written.
#ifndef FORWARDER_WRITER_H
#define FORWARDER_WRITER_H

#include "link.h"
#include "store.h"

// Called with a reply, which it takes over, or with NULL if the connection ended before.
typedef void writer_done(void *own, struct message *reply);

struct writer_call {
    writer_done *done; // NULL: the tag is free
    void *own;
};

#define WRITER_CALLS 512

struct writer {
    struct writer *next;
    struct cache *cache;
    uint32_t user;
    char *export;
    struct link link;
    struct event *retry;
    enum { WRITER_WAITS, WRITER_CONNECTS, WRITER_READY } state;
    uint32_t msize;
    uint32_t next_fid;
    struct writer_call calls[WRITER_CALLS];
    bool makes_credential;
    bool has_complained;
};

#define WRITER_ROOT 0U // the fid of the export's root

// Return the writer of a user and an export, made and connecting if need be; NULL without memory.
struct writer *writer_get(struct cache *cache, const char *export, uint32_t user);

// Try again in a while to open the files that have delayed writes.
void writer_retry(struct writer *writer);

// Send a request, and take over the message and the parts that follow it, which its size field must include.
// Without connection, `done` is called at once.
void writer_call(struct writer *writer, struct message *message, const struct link_part *parts, size_t count,
                 writer_done *done, void *own);

// Return a new request with a fid as its first field.
struct message *writer_request(uint8_t type, uint32_t bytes, uint32_t fid);

// Close a fid. `done`, if it is not NULL, is called with the reply.
void writer_clunk(struct writer *writer, uint32_t fid, writer_done *done, void *own);

// Return whether diod has answered all requests.
bool writers_are_idle(const struct cache *cache);

void writers_stop(struct cache *cache);

#endif
