// SPDX-License-Identifier: Apache-2.0
// Tokens of Slurm's auth/slurm, which Slurm's daemons make and verify on a Unix socket, called SACK. A token is signed
// but not encrypted, and is accepted again until it expires.
#ifndef REPRISE_CREDENTIAL_SACK_H
#define REPRISE_CREDENTIAL_SACK_H

#include "credential.h"

extern const struct credential_method credential_sack;

#endif
