// SPDX-License-Identifier: Apache-2.0
// The forwarder's services for administrators: metrics over HTTP, and commands on a Unix socket.
#ifndef FORWARDER_SERVICE_H
#define FORWARDER_SERVICE_H

#include "forwarder.h"

#define GAUGES_MAX 16

// Fill in the state of the queue and of the cache; return the number of gauges.
unsigned service_gauges(const struct forwarder *forwarder, struct gauge *gauges);

// Change the scheduler's window. Return 0; -1 if the scheduler has none.
int service_set_window(struct forwarder *forwarder, uint32_t window_us);

// Serve metrics at HOST:PORT. Return 0; -1 with the cause in `*why`.
int metrics_serve(struct forwarder *forwarder, const char *address, const char **why);

// Serve commands on a Unix socket, which only this user can reach. Return 0; -1 with the cause in `*why`.
int control_serve(struct forwarder *forwarder, const char *path, const char **why);

#endif
