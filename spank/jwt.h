// SPDX-License-Identifier: Apache-2.0
// Reads the tokens of Slurm's auth/slurm, which are JSON web tokens (RFC 7519). Nothing here checks a signature:
// Slurm's daemons do (credential_sack.h).
#ifndef REPRISE_JWT_H
#define REPRISE_JWT_H

#include <stddef.h>
#include <sys/types.h>

struct claims {
    uid_t author;
    uid_t reader;  // the only user for whom Slurm's daemons verify the token
    char *payload; // bytes, to be freed
    size_t payload_size;
};

// Read the claims of a token. Returns 0, or -1 if the token is not of the form that Slurm's daemons make for other
// processes, or if memory is short.
int jwt_read(const char *token, struct claims *claims);

#endif
