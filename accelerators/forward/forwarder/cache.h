// SPDX-License-Identifier: Apache-2.0
// Delayed writes, as the rest of the forwarder sees them. All functions do nothing if write-back is off.
#ifndef FORWARDER_CACHE_H
#define FORWARDER_CACHE_H

#include "request.h"

// Start write-back as the settings say, and read what an earlier forwarder left on flash.
// Return 0; -1 with one line in `error`.
int cache_start(struct forwarder *forwarder, char *error, size_t room);
void cache_stop(struct forwarder *forwarder);

// Return whether diod has answered all requests of the cache.
bool cache_is_idle(const struct forwarder *forwarder);

// Note that a fid has reached a file, which may have been renamed since it was found before.
void cache_found(const struct fid *fid, const struct session *session);

// Prepare for delayed writes through a fid that was opened.
void cache_opened(struct fid *fid, const struct session *session);

// Forget a fid that ends.
void cache_closed(struct fid *fid);

// Return whether the cache takes over a request, which it ends, or resumes with `request_go`.
bool cache_takes(struct request *request);

// Note which delayed writes a request must see that is sent to diod now.
void cache_sent(struct request *request);

// Apply delayed writes, and their errors, to a reply of diod, which it takes over. Return the reply for the client;
// NULL if the cache ends the request later.
struct message *cache_replied(struct request *request, struct message *reply);

// Note the errors that a Tclunk must report, before its fid is forgotten.
void cache_ending(struct request *request);

// Forget a request that ends.
void cache_forget(struct request *request);

// Call `done` once all data that are delayed now are in the file system, or cannot get there.
void cache_drain(struct forwarder *forwarder, void (*done)(void *own), void *own);

// Fill in the state of the cache for metrics and the command "status"; return the number of gauges.
unsigned cache_gauges(const struct forwarder *forwarder, struct gauge *gauges);

#endif
