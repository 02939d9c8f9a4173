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

static ssize_t send_rest(int fd, const unsigned char *header, size_t header_size, const char *body, size_t size,
                         size_t sent)
{
    const size_t of_header = sent < header_size ? sent : header_size;
    const size_t of_body = sent - of_header;
    struct iovec parts[] = {
        {.iov_base = (unsigned char *)header + of_header, .iov_len = header_size - of_header},
        {.iov_base = (char *)body + of_body, .iov_len = size - of_body}, // sendmsg(2) does not change the data
    };
    const struct msghdr message = {.msg_iov = parts, .msg_iovlen = sizeof parts / sizeof *parts};
    return sendmsg(fd, &message, MSG_NOSIGNAL);
}

enum client_result stream_receive(int fd, char *bytes, size_t size, nanoseconds deadline)
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

enum client_result stream_send(int fd, const unsigned char *header, size_t header_size, const char *body, size_t size,
                               nanoseconds deadline)
{
    size_t sent = 0;
    while (sent < header_size + size) {
        ssize_t more = send_rest(fd, header, header_size, body, size, sent);
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
        if (sent < header_size + size && deadline_passed(deadline)) {
            return CLIENT_LATE;
        }
    }
    return CLIENT_OK;
}

enum client_result stream_send_frame(int fd, const char *body, size_t size, nanoseconds deadline)
{
    const unsigned char header[HEADER_SIZE] = {(unsigned char)(size >> 24), (unsigned char)(size >> 16),
                                               (unsigned char)(size >> 8), (unsigned char)size};
    return stream_send(fd, header, sizeof header, body, size, deadline);
}

enum client_result stream_receive_frame(int fd, size_t limit, nanoseconds deadline, char **body, size_t *size)
{
    unsigned char header[HEADER_SIZE];
    enum client_result result = stream_receive(fd, (char *)header, sizeof header, deadline);
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
    result = stream_receive(fd, bytes, length, deadline);
    if (result != CLIENT_OK) {
        free(bytes);
        return result;
    }
    bytes[length] = '\0';
    *body = bytes;
    *size = length;
    return CLIENT_OK;
}
