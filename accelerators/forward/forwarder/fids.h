// SPDX-License-Identifier: Apache-2.0
// The fids of a connection: what the client calls them, what diod calls them, and which files they are.
#ifndef FORWARDER_FIDS_H
#define FORWARDER_FIDS_H

#include "session.h"

// Return a root with one reference; NULL without memory.
struct root *root_new(const char *export, size_t bytes, uint32_t user);
void root_release(struct root *root);

// Return a client's fid, also if it is pending; NULL if there is none.
struct fid *fids_find(const struct session *session, uint32_t number);

// Create a pending fid; NULL without memory, or if the connection has too many.
struct fid *fids_create(struct session *session, uint32_t number, struct root *root);

// Take a fid out of the table, which gives up the table's reference.
void fids_remove(struct session *session, struct fid *fid);
void fids_clear(struct session *session);

struct fid *fid_share(struct fid *fid);
void fid_release(struct fid *fid);

// Return `path` extended by a name, as a new string. ".." removes the last name. Return NULL if the result is too long.
char *fid_path(const char *path, const char *name, size_t bytes);

#endif
