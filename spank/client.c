// SPDX-License-Identifier: Apache-2.0
#define _GNU_SOURCE
#include "client.h"

#include <poll.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "limits.h"
#include "stream.h"
#include "tcp.h"
#include "unix_socket.h"

// The connection that client_connect_ahead opened, and the inode of its socket. Code that runs before the request is
// sent may close the descriptor and reuse its number; a different inode reveals this.
static int ahead = -1;
static ino_t ahead_inode;

// Return the connection that client_connect_ahead opened, or -1 if there is none.
static int take_ahead(void)
{
    struct stat status;
    int fd = ahead;
    ahead = -1;
    if (fd < 0 || fstat(fd, &status) != 0) {
        return -1;
    }
    return S_ISSOCK(status.st_mode) && status.st_ino == ahead_inode ? fd : -1;
}

void client_close_ahead(void)
{
    int fd = take_ahead();
    if (fd >= 0) {
        close(fd);
    }
}

void client_connect_ahead(const struct matcher *matcher)
{
    const struct endpoint *first = &matcher->endpoints[0];
    struct stat status;
    client_close_ahead();
    int fd = first->kind == ENDPOINT_UNIX ? unix_open() : -1;
    if (fd < 0) {
        return;
    }
    const struct sockaddr_un address = unix_address(first->path);
    if (connect(fd, (const struct sockaddr *)&address, sizeof address) || fstat(fd, &status)) {
        close(fd);
        return;
    }
    ahead = fd;
    ahead_inode = status.st_ino;
}

// Return the connection that client_connect_ahead opened. Return -1 if there is none, or if the daemon has closed it
// (because the daemon stopped or had waited too long for a request).
static int take_open_ahead(void)
{
    int fd = take_ahead();
    struct pollfd pollfd = {.fd = fd, .events = POLLIN};
    if (fd >= 0 && poll(&pollfd, 1, 0) != 0) {
        close(fd);
        fd = -1;
    }
    return fd;
}

// Exchange a request and a reply over a Unix socket. `fd` is a connection that is already open, or -1 for a new one.
// The connection is closed afterwards.
static enum client_result exchange_unix(int fd, const char *path, nanoseconds deadline, const char *request,
                                        size_t size, char **reply, size_t *reply_size)
{
    enum client_result result = CLIENT_OK;
    if (fd < 0) {
        fd = unix_open();
        result = fd < 0 ? CLIENT_FAILED : unix_connect(fd, path, deadline);
    }
    if (result == CLIENT_OK) {
        result = stream_send_frame(fd, request, size, deadline);
    }
    if (result == CLIENT_OK) {
        result = stream_receive_frame(fd, REPLY_MAX, deadline, reply, reply_size);
    }
    if (fd >= 0) {
        close(fd);
    }
    return result;
}

// Return the deadline for the next endpoint. The time left is divided evenly among the remaining `endpoints`: an
// endpoint that hangs uses only its share of the time, and an absent endpoint leaves its share to the following ones.
static nanoseconds share_of(nanoseconds deadline, size_t endpoints)
{
    const nanoseconds now = monotonic_now();
    return now + (deadline - now) / (nanoseconds)endpoints;
}

enum client_result client_exchange(const struct matcher *matcher, nanoseconds deadline, const char *request,
                                   size_t size, char **reply, size_t *reply_size)
{
    enum client_result result = CLIENT_LATE;
    *reply = NULL;
    if (size == 0 || size > REQUEST_MAX) {
        return CLIENT_FAILED;
    }
    for (size_t i = 0; result != CLIENT_OK && i < matcher->count && !deadline_passed(deadline); i++) {
        const struct endpoint *endpoint = &matcher->endpoints[i];
        const nanoseconds share = share_of(deadline, matcher->count - i);
        result = endpoint->kind == ENDPOINT_UNIX
                     ? exchange_unix(i == 0 ? take_open_ahead() : -1, endpoint->path, share, request, size, reply,
                                     reply_size)
                     : tcp_exchange(matcher, endpoint, share, request, size, reply, reply_size);
    }
    return result;
}
