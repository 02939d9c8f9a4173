// SPDX-License-Identifier: Apache-2.0
// Makes a munge credential, with which diod lets the forwarder in.
#ifndef FORWARDER_CREDENTIAL_H
#define FORWARDER_CREDENTIAL_H

#include "pool.h"

// Called with the credential, which it frees, or with NULL and the cause.
typedef void credential_done(void *own, char *text, const char *why);

// Start to make a credential of this process's user in a thread, because munged may hang.
// Return 0; -1 without memory.
int credential_make(struct pool *pool, credential_done *done, void *own);

#endif
