// SPDX-License-Identifier: Apache-2.0
// Work that may block for longer than a job may wait, or crash: done in a child process, which is killed in time.
#ifndef REPRISE_APART_H
#define REPRISE_APART_H

#include <stddef.h>

#include "deadline.h"
#include "result.h"

// Runs in the child, with all signals blocked. With CLIENT_OK, `*reply` is from malloc.
typedef enum client_result apart_work(const void *what, char **reply, size_t *size);

// Have `work` done and take over its result, and its reply of 1 to `limit` bytes. CLIENT_LATE once `deadline` has
// passed, CLIENT_FAILED if there is no child, or it ended without a result.
enum client_result apart_do(apart_work *work, const void *what, size_t limit, nanoseconds deadline, char **reply,
                            size_t *size);

#endif
