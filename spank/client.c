// SPDX-License-Identifier: Apache-2.0
#define _GNU_SOURCE
#include "client.h"

#include <errno.h>
#include <poll.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "limits.h"
#include "stream.h"
#include "tcp.h"

// A full backlog is EAGAIN on a Unix socket, and nothing to poll for: try again until the deadline.
static enum client_result connect_to(int fd, const struct sockaddr_un *address, nanoseconds deadline)
{
    while (connect(fd, (const struct sockaddr *)address, sizeof *address)) {
        if (errno != EAGAIN && errno != EINTR) {
            return CLIENT_ABSENT;
        }
        if (deadline_left_ms(deadline) == 0) {
            return CLIENT_LATE;
        }
        poll(NULL, 0, RETRY_CONNECT_MS);
    }
    return CLIENT_OK;
}

static enum client_result exchange_unix(const char *path, nanoseconds deadline, const char *request, size_t size,
                                        char **reply, size_t *reply_size)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    memcpy(address.sun_path, path, strlen(path) + 1); // as long, by its type
    int fd = stream_above_standard(socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
    if (fd < 0) {
        return CLIENT_FAILED;
    }
    enum client_result result = connect_to(fd, &address, deadline);
    if (result == CLIENT_OK) {
        result = stream_send_frame(fd, request, size, deadline);
    }
    if (result == CLIENT_OK) {
        result = stream_receive_frame(fd, REPLY_MAX, deadline, reply, reply_size);
    }
    close(fd);
    return result;
}

// What is left, shared out evenly: one that hangs leaves their time to those after it, one that is absent all of it.
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
    for (size_t i = 0; result != CLIENT_OK && i < matcher->count && deadline_left_ms(deadline) > 0; i++) {
        const struct endpoint *endpoint = &matcher->endpoints[i];
        const nanoseconds share = share_of(deadline, matcher->count - i);
        result = endpoint->kind == ENDPOINT_UNIX
                     ? exchange_unix(endpoint->path, share, request, size, reply, reply_size)
                     : tcp_exchange(matcher, endpoint, share, request, size, reply, reply_size);
    }
    return result;
}
