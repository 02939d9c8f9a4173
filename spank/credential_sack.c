// SPDX-License-Identifier: Apache-2.0
// A request on SACK's socket consists of Slurm's protocol version, the length of the rest, the kind of request, and its
// data; all integers are big-endian. The daemon identifies this process by its user id (SO_PEERCRED). The format is
// that of Slurm's src/plugins/auth/slurm/sack.c; the daemons of 23.11 to 25.11 only log the version.
#include "credential_sack.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "jwt.h"
#include "limits.h"
#include "stream.h"
#include "unix_socket.h"

#define SACK_VERSION (40u << 8) // the protocol version of Slurm 23.11, the first release with SACK
#define SACK_CREATE 64001u
#define SACK_VERIFY 64002u
#define HEADER_MAX 18

// Sockets of slurmd or sackd, slurmctld, and slurmdbd.
static const char *const paths[] = {"/run/slurm/sack.socket", "/run/slurmctld/sack.socket",
                                    "/run/slurmdbd/sack.socket"};

// Return the path of the first socket that exists, or NULL.
static const char *find_socket(const struct credential_settings *settings)
{
    if (*settings->sack_socket) {
        return access(settings->sack_socket, F_OK) == 0 ? settings->sack_socket : NULL;
    }
    for (size_t i = 0; i < sizeof paths / sizeof *paths; i++) {
        if (access(paths[i], F_OK) == 0) {
            return paths[i];
        }
    }
    return NULL;
}

static bool is_available(const struct credential_settings *settings)
{
    return find_socket(settings);
}

static size_t put(unsigned char *header, size_t at, uint32_t number)
{
    for (int shift = 24; shift >= 0; shift -= 8) {
        header[at++] = (unsigned char)(number >> shift);
    }
    return at;
}

// Connect and send a request: its kind, `count` numbers, and bytes. Returns CLIENT_OK and the connection in `*fd`.
static enum client_result request(const struct credential_settings *settings, nanoseconds deadline, uint32_t kind,
                                  const uint32_t *numbers, size_t count, const char *bytes, size_t size, int *fd)
{
    unsigned char header[HEADER_MAX] = {(unsigned char)(SACK_VERSION >> 8), (unsigned char)SACK_VERSION};
    const char *path = find_socket(settings);
    size_t at = put(header, 2, (uint32_t)(8 + 4 * count + size)); // counted from this field on
    at = put(header, at, kind);
    for (size_t i = 0; i < count; i++) {
        at = put(header, at, numbers[i]);
    }
    *fd = unix_open();
    if (*fd < 0) {
        return CLIENT_FAILED;
    }
    enum client_result result = path ? unix_connect(*fd, path, deadline) : CLIENT_ABSENT;
    if (result == CLIENT_OK) {
        result = stream_send(*fd, header, at, bytes, size, deadline);
    }
    if (result != CLIENT_OK) {
        close(*fd);
    }
    return result;
}

// Convert a result of an exchange with Slurm's daemon to that of the exchange with the matcher. If Slurm's daemon is
// absent or its answer is broken, no credential can be made or opened, so the result is CLIENT_UNTRUSTED.
static enum client_result as_told(enum client_result result)
{
    return result == CLIENT_ABSENT || result == CLIENT_BROKEN ? CLIENT_UNTRUSTED : result;
}

static enum client_result make(const struct credential_settings *settings, uid_t reader, const char *bytes, size_t size,
                               nanoseconds deadline, char **credential)
{
    const uint32_t numbers[] = {reader, (uint32_t)size};
    size_t token_size = 0;
    int fd = -1;
    enum client_result result = request(settings, deadline, SACK_CREATE, numbers, 2, bytes, size, &fd);
    if (result != CLIENT_OK) {
        return as_told(result);
    }
    result = stream_receive_frame(fd, REQUEST_CREDENTIAL_MAX, deadline, credential, &token_size);
    close(fd);
    if (result == CLIENT_OK && strlen(*credential) != token_size - 1) { // the length counts a NUL at the end
        free(*credential);
        *credential = NULL;
        result = CLIENT_UNTRUSTED;
    }
    return as_told(result);
}

static enum client_result verify(const struct credential_settings *settings, const char *token, nanoseconds deadline)
{
    const size_t size = strlen(token) + 1;
    const uint32_t numbers[] = {(uint32_t)size};
    char answer[4] = {0};
    int fd = -1;
    enum client_result result = request(settings, deadline, SACK_VERIFY, numbers, 1, token, size, &fd);
    if (result != CLIENT_OK) {
        return result;
    }
    result = stream_receive(fd, answer, sizeof answer, deadline);
    close(fd);
    return result == CLIENT_OK && memcmp(answer, "\0\0\0\0", sizeof answer) != 0 ? CLIENT_UNTRUSTED : result;
}

static enum client_result open_credential(const struct credential_settings *settings, const char *credential,
                                          nanoseconds deadline, char **bytes, size_t *size, uid_t *maker)
{
    struct claims claims = {0};
    enum client_result result = verify(settings, credential, deadline);
    if (result != CLIENT_OK) {
        return as_told(result);
    }
    if (jwt_read(credential, &claims)) {
        return CLIENT_UNTRUSTED;
    }
    if (claims.reader != geteuid()) { // Slurm's daemons also verify tokens that any user may read
        free(claims.payload);
        return CLIENT_UNTRUSTED;
    }
    *bytes = claims.payload;
    *size = claims.payload_size;
    *maker = claims.author;
    return CLIENT_OK;
}

const struct credential_method credential_sack = {
    .choice = CREDENTIAL_SLURM,
    .is_available = is_available,
    .make = make,
    .open = open_credential,
};
