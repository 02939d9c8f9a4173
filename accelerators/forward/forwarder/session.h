// SPDX-License-Identifier: Apache-2.0
// A client's connection, its connection to diod, its fids and its requests in service.
#ifndef FORWARDER_SESSION_H
#define FORWARDER_SESSION_H

#include "forwarder.h"
#include "link.h"
#include "wire.h"

struct denial;
struct file; // a file with delayed writes
struct request;

// An attached export, as one user.
struct root {
    unsigned references;
    uint32_t user;
    char *export; // the attach name
};

struct fid {
    struct fid *next; // in the table
    unsigned references;
    uint32_t number;   // the client's
    uint32_t upstream; // diod's
    bool pending;      // the reply to the request that creates it has not arrived
    bool ended;        // a request that ends it is in service
    bool is_open;
    bool is_auth;   // diod takes a credential through it
    uint32_t flags; // of the open
    uint64_t inode;
    uint8_t qid_type;
    struct root *root;     // NULL for fids of authentication and of extended attributes
    char *path;            // below the export, without a leading "/"; NULL if too long
    struct request *first; // ordered requests, by arrival
    struct request *last;
    struct file *file;    // for delayed writes; NULL: none
    uint64_t errors_seen; // failed writes of the file that were reported to this fid, or precede its opening
};

#define FID_BUCKETS 256
#define TAG_BUCKETS 64
// Requests may exceed REQUESTS_MAX by those that were staged before reading stopped.
#define UPSTREAM_TAGS (REQUESTS_MAX + STAGED_BYTES / HEADER_BYTES + 1)

struct session {
    struct forwarder *forwarder;
    struct session *next;
    struct session *previous;
    struct link client;
    struct link upstream;
    struct job *job;
    struct fid *fids[FID_BUCKETS];
    unsigned fid_count;
    uint32_t next_upstream_fid;
    struct request *tags[TAG_BUCKETS];
    struct request *sent[UPSTREAM_TAGS]; // by diod's tag
    uint16_t free_tags[UPSTREAM_TAGS];
    unsigned free_tag_count;
    unsigned request_count;
    uint32_t msize;        // 0 before Rversion
    struct denial *denial; // the client gets no burst buffer, so no process of its job must; NULL: it did not ask
    bool is_burst;         // the client asked for its job's burst buffer
    bool attached;         // diod has let the client in
    bool ending;           // the client is gone; replies of diod are awaited, since diod dies if it cannot send them
    bool freed;            // to be freed by the event loop
};

// Accept a client. Takes over `fd`, and `denial`, if it is not NULL.
void session_accept(struct forwarder *forwarder, int fd, struct denial *denial);

// End a session: its client is disconnected now, diod when it has answered.
void session_end(struct session *session);

#endif
