// SPDX-License-Identifier: Apache-2.0
#include "notify.h"

#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#define SOCKET "NOTIFY_SOCKET"
#define INTERVAL "WATCHDOG_USEC"
#define INTERVAL_PID "WATCHDOG_PID"
#define US_PER_S 1000000LL

static struct sockaddr_un address;
static socklen_t address_bytes; // 0: systemd wants no reports

static void report(const char *state)
{
    const int fd = address_bytes ? socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0) : -1;
    if (fd >= 0) {
        sendto(fd, state, strlen(state), MSG_NOSIGNAL, (struct sockaddr *)&address, address_bytes);
        close(fd);
    }
}

static void on_watchdog(evutil_socket_t fd, short what, void *own)
{
    (void)fd;
    (void)what;
    (void)own;
    report("WATCHDOG=1");
}

static void take_address(void)
{
    const char *path = getenv(SOCKET);
    const size_t length = path ? strlen(path) : 0;
    if (length < 2 || length >= sizeof address.sun_path || (path[0] != '/' && path[0] != '@')) {
        return;
    }
    address.sun_family = AF_UNIX;
    memcpy(address.sun_path, path, length);
    if (path[0] == '@') {
        address.sun_path[0] = '\0'; // an abstract socket
    }
    address_bytes = (socklen_t)(offsetof(struct sockaddr_un, sun_path) + length);
}

// The interval in which systemd expects reports, in microseconds; 0: it expects none.
static long long expected_us(void)
{
    const char *interval = getenv(INTERVAL), *pid = getenv(INTERVAL_PID);
    const long long us = interval && (!pid || strtoll(pid, NULL, 10) == getpid()) ? strtoll(interval, NULL, 10) : 0;
    return us > 0 ? us : 0;
}

void notify_ready(struct event_base *base)
{
    take_address();
    const long long half_us = expected_us() / 2;
    const struct timeval every = {.tv_sec = half_us / US_PER_S, .tv_usec = half_us % US_PER_S};
    struct event *turns = half_us && address_bytes ? event_new(base, -1, EV_PERSIST, on_watchdog, NULL) : NULL;
    if (turns) {
        event_add(turns, &every);
    }
    report("READY=1");
    unsetenv(SOCKET);
    unsetenv(INTERVAL);
    unsetenv(INTERVAL_PID);
}
