// SPDX-License-Identifier: Apache-2.0
// Munge credentials: bytes with proof of who made them, for one reader. Either call may take seconds.
#ifndef REPRISE_CREDENTIAL_H
#define REPRISE_CREDENTIAL_H

#include <stddef.h>
#include <sys/types.h>

// A credential around `size` bytes that only `reader` can open; to be freed. NULL if munge makes none. `munge_socket`
// is munged's, "" for the usual one.
char *credential_make(const char *munge_socket, uid_t reader, const char *bytes, size_t size);

// The bytes of a credential, to be freed, and who made it. NULL if it is forged, expired, for another reader, or was
// opened on this host before.
char *credential_open(const char *munge_socket, const char *credential, size_t *size, uid_t *maker);

#endif
