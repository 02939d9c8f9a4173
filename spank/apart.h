// SPDX-License-Identifier: Apache-2.0
// Runs work that may crash, or block for longer than a job may wait, in a child process that is killed in time.
#ifndef REPRISE_APART_H
#define REPRISE_APART_H

#include <stddef.h>

#include "deadline.h"
#include "result.h"

// The function that the child runs, with all signals blocked. If it returns CLIENT_OK, it sets `*reply` to memory from
// malloc, and `*size` to the size of the reply in bytes.
typedef enum client_result apart_work(const void *what, char **reply, size_t *size);

// Run `work` in a child process. Returns its result, and in `*reply` its reply of 1 to `limit` bytes. Returns
// CLIENT_LATE if `deadline` passes first, and CLIENT_FAILED if no child can be started or the child ends without a
// result.
enum client_result apart_do(apart_work *work, const void *what, size_t limit, nanoseconds deadline, char **reply,
                            size_t *size);

#endif
