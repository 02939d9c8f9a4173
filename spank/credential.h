// SPDX-License-Identifier: Apache-2.0
// Credentials. A credential contains a payload, proves which user made it, and can be opened by one user only.
#ifndef REPRISE_CREDENTIAL_H
#define REPRISE_CREDENTIAL_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>
#include <sys/un.h>

#include "deadline.h"
#include "result.h"

enum credential_choice { CREDENTIAL_AUTOMATIC, CREDENTIAL_MUNGE, CREDENTIAL_SLURM };

struct credential_settings {
    enum credential_choice choice;                                // automatic: the first method that this host has
    char munge_socket[sizeof((struct sockaddr_un *)0)->sun_path]; // path, or "" for libmunge's default
    char sack_socket[sizeof((struct sockaddr_un *)0)->sun_path];  // path, or "" for Slurm's usual ones
};

// A method to make and open credentials. All functions may block for seconds.
struct credential_method {
    enum credential_choice choice; // the setting that selects only this method

    // True if this host has the method's daemon.
    bool (*is_available)(const struct credential_settings *settings);

    // Make a credential that contains `size` bytes and that only `reader` can open. On CLIENT_OK, `*credential` is a
    // string to be freed. Returns CLIENT_UNTRUSTED if the daemon refuses.
    enum client_result (*make)(const struct credential_settings *settings, uid_t reader, const char *bytes, size_t size,
                               nanoseconds deadline, char **credential);

    // Open a credential. On CLIENT_OK, `*bytes` is its payload, to be freed, and `*maker` is its author's user id.
    // Returns CLIENT_UNTRUSTED if the credential is forged, expired or meant for another reader.
    enum client_result (*open)(const struct credential_settings *settings, const char *credential, nanoseconds deadline,
                               char **bytes, size_t *size, uid_t *maker);
};

// Return the method for requests from this host, or NULL if this host has none.
const struct credential_method *credential_choose(const struct credential_settings *settings);

#endif
