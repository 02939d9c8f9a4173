// SPDX-License-Identifier: Apache-2.0
#include "address.h"

#include <errno.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#define BACKLOG 512
#define KEEPALIVE_S 60          // idle time after which the peer is checked
#define SOCKET_BUFFER (1 << 20) // so that diod's threads need not wait for each message to be forwarded

union any_address {
    struct sockaddr any;
    struct sockaddr_un path;
    struct sockaddr_storage room;
};

static int resolve(const char *address, bool passive, union any_address *to, socklen_t *length, const char **why)
{
    if (*address == '/') {
        if (strlen(address) >= sizeof to->path.sun_path) {
            *why = "its path is longer than 107 bytes";
            return -1;
        }
        to->path = (struct sockaddr_un){.sun_family = AF_UNIX};
        memcpy(to->path.sun_path, address, strlen(address) + 1);
        *length = sizeof to->path;
        return 0;
    }
    const char *colon = strrchr(address, ':');
    char host[256];
    if (!colon || !colon[1] || (size_t)(colon - address) >= sizeof host) {
        *why = "it is neither HOST:PORT nor a path that begins with \"/\"";
        return -1;
    }
    memcpy(host, address, (size_t)(colon - address));
    host[colon - address] = '\0';
    char *name = host;
    if (*name == '[' && colon[-1] == ']') {
        name[strlen(name) - 1] = '\0';
        name++;
    }
    const struct addrinfo hints = {.ai_socktype = SOCK_STREAM, .ai_flags = passive ? AI_PASSIVE : 0};
    struct addrinfo *found = NULL;
    const int failed = getaddrinfo(*name ? name : NULL, colon + 1, &hints, &found);
    if (failed) {
        *why = gai_strerror(failed);
        return -1;
    }
    memcpy(&to->room, found->ai_addr, found->ai_addrlen);
    *length = found->ai_addrlen;
    freeaddrinfo(found);
    return 0;
}

void address_tune(int fd)
{
    const int on = 1;
    const int bytes = SOCKET_BUFFER;
    const int idle = KEEPALIVE_S;
    // The options of TCP fail on Unix sockets, which do not need them.
    setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    setsockopt(fd, IPPROTO_TCP, TCP_KEEPIDLE, &idle, sizeof idle);
    setsockopt(fd, SOL_SOCKET, SO_KEEPALIVE, &on, sizeof on); // ends connections of nodes that crashed
    setsockopt(fd, SOL_SOCKET, SO_SNDBUF, &bytes, sizeof bytes);
}

static bool is_left_behind(const union any_address *to, socklen_t length)
{
    struct stat file;
    if (lstat(to->path.sun_path, &file) || !S_ISSOCK(file.st_mode)) {
        return false;
    }
    const int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    const bool refused = fd >= 0 && connect(fd, &to->any, length) && errno == ECONNREFUSED;
    if (fd >= 0) {
        close(fd);
    }
    return refused;
}

int address_listen(const char *address, const char **why)
{
    union any_address to;
    socklen_t length;
    if (resolve(address, true, &to, &length, why)) {
        return -1;
    }
    const int fd = socket(to.any.sa_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    const int on = 1;
    if (fd >= 0) {
        setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
        if (to.any.sa_family == AF_UNIX && is_left_behind(&to, length)) {
            unlink(to.path.sun_path);
        }
    }
    if (fd < 0 || bind(fd, &to.any, length) || listen(fd, BACKLOG)) {
        *why = strerror(errno);
        if (fd >= 0) {
            close(fd);
        }
        return -1;
    }
    return fd;
}

int address_connect(const char *address)
{
    union any_address to;
    socklen_t length;
    const char *why;
    if (resolve(address, false, &to, &length, &why)) {
        errno = EADDRNOTAVAIL;
        return -1;
    }
    const int fd = socket(to.any.sa_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (fd < 0) {
        return -1;
    }
    address_tune(fd);
    if (connect(fd, &to.any, length) && errno != EINPROGRESS) {
        const int cause = errno;
        close(fd);
        errno = cause;
        return -1;
    }
    return fd;
}
