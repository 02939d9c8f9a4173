// SPDX-License-Identifier: Apache-2.0
#define _GNU_SOURCE
#include "client.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "limits.h"

#define HEADER_SIZE 4

// Wait until `fd` is ready for `events`. An error or a hang-up counts as ready: the call that follows will name it.
static enum client_result wait_until_ready(int fd, short events, nanoseconds deadline)
{
    for (;;) {
        struct pollfd pollfd = {.fd = fd, .events = events};
        int ready = poll(&pollfd, 1, deadline_left_ms(deadline));
        if (ready > 0) {
            return pollfd.revents & POLLNVAL ? CLIENT_FAILED : CLIENT_OK;
        }
        if (ready == 0) {
            return CLIENT_LATE;
        }
        if (errno != EINTR && errno != EAGAIN) {
            return CLIENT_FAILED;
        }
        if (deadline_left_ms(deadline) == 0) {
            return CLIENT_LATE;
        }
    }
}

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

static enum client_result send_all(int fd, const char *bytes, size_t size, nanoseconds deadline)
{
    while (size > 0) {
        ssize_t sent = send(fd, bytes, size, MSG_NOSIGNAL);
        if (sent >= 0) {
            bytes += sent;
            size -= (size_t)sent;
        } else if (errno == EAGAIN || errno == EWOULDBLOCK) {
            enum client_result result = wait_until_ready(fd, POLLOUT, deadline);
            if (result != CLIENT_OK) {
                return result;
            }
        } else if (errno != EINTR) {
            return CLIENT_BROKEN;
        }
        if (size > 0 && deadline_left_ms(deadline) == 0) {
            return CLIENT_LATE;
        }
    }
    return CLIENT_OK;
}

static enum client_result receive_all(int fd, char *bytes, size_t size, nanoseconds deadline)
{
    while (size > 0) {
        enum client_result result = wait_until_ready(fd, POLLIN, deadline);
        if (result != CLIENT_OK) {
            return result;
        }
        ssize_t received = recv(fd, bytes, size, 0);
        if (received > 0) {
            bytes += received;
            size -= (size_t)received;
        } else if (received == 0 || (errno != EAGAIN && errno != EWOULDBLOCK && errno != EINTR)) {
            return CLIENT_BROKEN;
        }
        if (size > 0 && deadline_left_ms(deadline) == 0) {
            return CLIENT_LATE;
        }
    }
    return CLIENT_OK;
}

static enum client_result receive_frame(int fd, nanoseconds deadline, char **reply, size_t *reply_size)
{
    unsigned char header[HEADER_SIZE];
    enum client_result result = receive_all(fd, (char *)header, sizeof header, deadline);
    if (result != CLIENT_OK) {
        return result;
    }
    uint32_t size = (uint32_t)header[0] << 24 | (uint32_t)header[1] << 16 | (uint32_t)header[2] << 8 | header[3];
    if (size == 0 || size > REPLY_MAX) {
        return CLIENT_BROKEN;
    }
    char *bytes = malloc(size);
    if (!bytes) {
        return CLIENT_FAILED;
    }
    result = receive_all(fd, bytes, size, deadline);
    if (result != CLIENT_OK) {
        free(bytes);
        return result;
    }
    *reply = bytes;
    *reply_size = size;
    return CLIENT_OK;
}

// A socket above the standard descriptors: where the caller has closed those, whatever it prints would go to the peer.
static int open_socket(void)
{
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    if (fd < 0 || fd > STDERR_FILENO) {
        return fd;
    }
    int moved = fcntl(fd, F_DUPFD_CLOEXEC, STDERR_FILENO + 1);
    close(fd);
    return moved;
}

enum client_result client_exchange(const char *path, nanoseconds deadline, const char *request, size_t size,
                                   char **reply, size_t *reply_size)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    *reply = NULL;
    if (strlen(path) >= sizeof address.sun_path || size == 0 || size > REQUEST_MAX) {
        return CLIENT_FAILED;
    }
    memcpy(address.sun_path, path, strlen(path) + 1);
    const unsigned char header[HEADER_SIZE] = {(unsigned char)(size >> 24), (unsigned char)(size >> 16),
                                               (unsigned char)(size >> 8), (unsigned char)size};

    int fd = open_socket();
    if (fd < 0) {
        return CLIENT_FAILED;
    }
    enum client_result result = connect_to(fd, &address, deadline);
    if (result == CLIENT_OK) {
        result = send_all(fd, (const char *)header, sizeof header, deadline);
    }
    if (result == CLIENT_OK) {
        result = send_all(fd, request, size, deadline);
    }
    if (result == CLIENT_OK) {
        result = receive_frame(fd, deadline, reply, reply_size);
    }
    close(fd);
    return result;
}
