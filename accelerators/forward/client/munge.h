// SPDX-License-Identifier: Apache-2.0
// Credentials of munge, by which a forwarder knows the user. The library is not linked with libmunge: it loads
// libmunge if that is installed.
#ifndef FORWARD_MUNGE_H
#define FORWARD_MUNGE_H

#include <stddef.h>

#include "../nine.h"

#define MUNGE_BYTES BURST_CREDENTIAL_BYTES // longest credential; one without data takes some 130 bytes

// Write a new credential with these bytes of data, without a 0 at its end. Returns its length; 0 if munge cannot make
// one. The first call loads libmunge, and each call uses malloc, so a signal handler must not call this function.
// Preserves errno.
size_t munge_credential(char to[MUNGE_BYTES], const char *data, size_t bytes);

#endif
