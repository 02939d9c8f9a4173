// SPDX-License-Identifier: Apache-2.0
#define _GNU_SOURCE
#include "stream.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

#define HEADER_SIZE 4

// Wait until `fd` is ready for `events`. An error or a hang-up counts as ready; the next call reports it.
static enum client_result wait_until_ready(int fd, short events, nanoseconds deadline)
{
    for (;;) {
        struct pollfd pollfd = {.fd = fd, .events = events};
        const struct timespec left = deadline_left(deadline);
        int ready = ppoll(&pollfd, 1, &left, NULL);
        if (ready > 0) {
            return pollfd.revents & POLLNVAL ? CLIENT_FAILED : CLIENT_OK;
        }
        if (ready == 0) {
            return CLIENT_LATE;
        }
        if (errno != EINTR && errno != EAGAIN) {
            return CLIENT_FAILED;
        }
        if (deadline_passed(deadline)) {
            return CLIENT_LATE;
        }
    }
}

// Send the rest of a frame in one call; two calls would wake the peer twice.
static ssize_t send_rest(int fd, unsigned char *header, const char *body, size_t size, size_t sent)
{
    const size_t of_header = sent < HEADER_SIZE ? sent : HEADER_SIZE;
    const size_t of_body = sent - of_header;
    struct iovec parts[] = {
        {.iov_base = header + of_header, .iov_len = HEADER_SIZE - of_header},
        {.iov_base = (char *)body + of_body, .iov_len = size - of_body}, // sendmsg(2) does not change the data
    };
    const struct msghdr message = {.msg_iov = parts, .msg_iovlen = sizeof parts / sizeof *parts};
    return sendmsg(fd, &message, MSG_NOSIGNAL);
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
        } else if (received == 0 || (errno != EAGAIN && errno != EINTR)) {
            return CLIENT_BROKEN;
        }
        if (size > 0 && deadline_passed(deadline)) {
            return CLIENT_LATE;
        }
    }
    return CLIENT_OK;
}

int stream_above_standard(int fd)
{
    if (fd < 0 || fd > STDERR_FILENO) {
        return fd;
    }
    int moved = fcntl(fd, F_DUPFD_CLOEXEC, STDERR_FILENO + 1);
    close(fd);
    return moved;
}

enum client_result stream_send_frame(int fd, const char *body, size_t size, nanoseconds deadline)
{
    unsigned char header[HEADER_SIZE] = {(unsigned char)(size >> 24), (unsigned char)(size >> 16),
                                         (unsigned char)(size >> 8), (unsigned char)size};
    size_t sent = 0;
    while (sent < HEADER_SIZE + size) {
        ssize_t more = send_rest(fd, header, body, size, sent);
        if (more >= 0) {
            sent += (size_t)more;
        } else if (errno == EAGAIN) {
            enum client_result result = wait_until_ready(fd, POLLOUT, deadline);
            if (result != CLIENT_OK) {
                return result;
            }
        } else if (errno != EINTR) {
            return CLIENT_BROKEN;
        }
        if (sent < HEADER_SIZE + size && deadline_passed(deadline)) {
            return CLIENT_LATE;
        }
    }
    return CLIENT_OK;
}

enum client_result stream_receive_frame(int fd, size_t limit, nanoseconds deadline, char **body, size_t *size)
{
    unsigned char header[HEADER_SIZE];
    enum client_result result = receive_all(fd, (char *)header, sizeof header, deadline);
    if (result != CLIENT_OK) {
        return result;
    }
    size_t length = (size_t)header[0] << 24 | (size_t)header[1] << 16 | (size_t)header[2] << 8 | header[3];
    if (length == 0 || length > limit) {
        return CLIENT_BROKEN;
    }
    char *bytes = malloc(length + 1);
    if (!bytes) {
        return CLIENT_FAILED;
    }
    result = receive_all(fd, bytes, length, deadline);
    if (result != CLIENT_OK) {
        free(bytes);
        return result;
    }
    bytes[length] = '\0';
    *body = bytes;
    *size = length;
    return CLIENT_OK;
}
