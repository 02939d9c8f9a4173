// SPDX-License-Identifier: Apache-2.0
// Munge credentials. A credential contains a payload, proves which user made it, and can be opened by one user only.
// Both functions may take seconds.
#ifndef REPRISE_CREDENTIAL_H
#define REPRISE_CREDENTIAL_H

#include <stddef.h>
#include <sys/types.h>

// Return a credential that contains `size` bytes and that only `reader` can open; NULL if munge refuses. The caller
// must free the credential. `munge_socket` is the path of munged's socket, or "" for the default path.
char *credential_make(const char *munge_socket, uid_t reader, const char *bytes, size_t size);

// Return the bytes of a credential, and set `*maker` to its author's user id. The caller must free the bytes. NULL if
// the credential is forged, expired, meant for another reader, or was opened on this host before.
char *credential_open(const char *munge_socket, const char *credential, size_t *size, uid_t *maker);

#endif
