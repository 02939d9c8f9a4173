// SPDX-License-Identifier: Apache-2.0
#define _GNU_SOURCE
#include "unix_socket.h"

#include <errno.h>
#include <poll.h>
#include <string.h>
#include <sys/socket.h>

#include "limits.h"
#include "stream.h"

struct sockaddr_un unix_address(const char *path)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    memcpy(address.sun_path, path, strlen(path) + 1);
    return address;
}

int unix_open(void)
{
    return stream_above_standard(socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
}

// A full backlog makes connect(2) fail with EAGAIN, and poll(2) cannot wait for it to drain, so try again until the
// deadline.
enum client_result unix_connect(int fd, const char *path, nanoseconds deadline)
{
    const struct sockaddr_un address = unix_address(path);
    while (connect(fd, (const struct sockaddr *)&address, sizeof address)) {
        if (errno != EAGAIN && errno != EINTR) {
            return CLIENT_ABSENT;
        }
        if (deadline_passed(deadline)) {
            return CLIENT_LATE;
        }
        poll(NULL, 0, RETRY_CONNECT_MS);
    }
    return CLIENT_OK;
}
