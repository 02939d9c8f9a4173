// SPDX-License-Identifier: Apache-2.0
// Starts burst buffers: instances of this program, as the jobs' users.
#ifndef FORWARDER_INSTANCE_START_H
#define FORWARDER_INSTANCE_START_H

#include <sys/types.h>

#include "burst.h"

// An instance that was started.
struct child {
    pid_t pid;
    bool ended;
    bool refused; // it ended by itself, with an error
};

// Start an instance. Return it; NULL with one line in the log.
struct child *instance_start(struct forwarder *forwarder, const struct burst *burst);

#endif
