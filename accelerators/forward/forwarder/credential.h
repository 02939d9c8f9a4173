// SPDX-License-Identifier: Apache-2.0
// Credentials of munge: with them, diod lets the forwarder in, and the council and the forwarder believe each other.
#ifndef FORWARDER_CREDENTIAL_H
#define FORWARDER_CREDENTIAL_H

#include <stdbool.h>
#include <stdint.h>

#include "pool.h"

// Called with the credential, which it frees, or with NULL and the cause.
typedef void credential_done(void *own, char *text, const char *why);

// Content of a credential, or why there is none.
struct opened {
    char *text;        // whoever gets it frees it; NULL: it was not opened
    uint32_t user;     // who made the credential
    const char *why;   // why it was not opened
    bool may_be_valid; // munged did not answer
};

// Called with the content of a credential.
typedef void credential_opened(void *own, const struct opened *opened);

// Start to make a credential of this process's user in a thread, because munged may hang. It contains a copy of a
// text; NULL: none. Return 0; -1 without memory.
int credential_make(struct pool *pool, const char *text, credential_done *done, void *own);

// Start to open a credential in a thread. It is refused if it was opened on this node before. Return 0; -1 without
// memory.
int credential_open(struct pool *pool, const char *credential, credential_opened *opened, void *own);

#endif
