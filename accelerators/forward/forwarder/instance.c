// SPDX-License-Identifier: Apache-2.0
// An instance of the forwarder that is a job's burst buffer. It gets its connections from the forwarder of the I/O
// node.
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "burst.h"
#include "cache.h"
#include "log.h"
#include "session.h"

#define BACKLOG 128

static struct {
    struct forwarder *forwarder;
    struct event *timer;
    struct sockaddr_un address;
    uint64_t needed_ns; // time at which it was last needed
} instance;

static void look(void)
{
    const struct timeval second = {.tv_sec = 1};
    event_add(instance.timer, &second);
}

static bool is_needed(const struct forwarder *forwarder)
{
    struct gauge gauges[16];
    const unsigned count = cache_gauges(forwarder, gauges);
    for (unsigned i = 0; i < count; i++) {
        if (!strcmp(gauges[i].name, "delayed_bytes") && gauges[i].value) {
            return true;
        }
    }
    for (const struct session *session = forwarder->sessions; session; session = session->next) {
        if (session->attached) { // anybody could make the others
            return true;
        }
    }
    return false;
}

// End once nobody has needed this instance for a while, as if an administrator had ended it.
static void on_timer(evutil_socket_t fd, short what, void *own)
{
    const uint64_t now = scheduler_now();
    (void)fd;
    (void)what;
    (void)own;
    instance.needed_ns = is_needed(instance.forwarder) ? now : instance.needed_ns;
    if (now - instance.needed_ns >= (uint64_t)instance.forwarder->settings.linger * 1000000000ULL) {
        raise(SIGTERM);
        return;
    }
    look();
}

void burst_remove(void)
{
    const char *directory = instance.forwarder ? instance.forwarder->settings.hand_over : NULL;
    if (directory) {
        unlink(instance.address.sun_path);
        const int opened = open(directory, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        unlinkat(opened, "lock", 0);
        close(opened);
        instance.forwarder = NULL;
    }
}

int burst_lock(const char *directory, const char **why)
{
    struct stat status;
    const int opened = open(directory, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    const int fd = opened < 0 ? -1 : openat(opened, "lock", O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
    if (opened >= 0) {
        close(opened);
    }
    const int failed = fd < 0 || flock(fd, LOCK_EX | LOCK_NB) ? errno : 0; // the descriptor stays open
    // Two connections may make the forwarder start an instance each: one is enough. An instance that has just ended may
    // have removed the file that was locked.
    if ((fd >= 0 && failed == EWOULDBLOCK) || (!failed && !fstat(fd, &status) && !status.st_nlink)) {
        exit(EXIT_SUCCESS);
    }
    *why = strerror(failed);
    return failed ? -1 : 0;
}

int burst_listen(struct forwarder *forwarder, const char **why)
{
    const char *directory = forwarder->settings.hand_over;
    const int bytes = snprintf(instance.address.sun_path, sizeof instance.address.sun_path, "%s/socket", directory);
    *why = "its path is too long";
    if (bytes < 0 || (size_t)bytes >= sizeof instance.address.sun_path) {
        return -1;
    }
    instance.address.sun_family = AF_UNIX;
    instance.forwarder = forwarder;
    instance.needed_ns = scheduler_now();
    instance.timer = evtimer_new(forwarder->base, on_timer, NULL);
    unlink(instance.address.sun_path);
    const int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (fd < 0 || !instance.timer || bind(fd, (struct sockaddr *)&instance.address, sizeof instance.address) ||
        listen(fd, BACKLOG)) {
        *why = strerror(errno);
        return -1;
    }
    look();
    return fd;
}

int burst_receive(int listening)
{
    const struct timeval patience = {.tv_sec = 1}; // the forwarder sends at once
    const int from = accept4(listening, NULL, NULL, SOCK_CLOEXEC);
    int fd = -1;
    char byte;
    struct iovec vector = {&byte, 1};
    union {
        struct cmsghdr header;
        char room[CMSG_SPACE(sizeof fd)];
    } control;
    struct msghdr message = {
        .msg_iov = &vector, .msg_iovlen = 1, .msg_control = control.room, .msg_controllen = sizeof control.room};
    if (from < 0) {
        return -1;
    }
    setsockopt(from, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience);
    const ssize_t got = recvmsg(from, &message, MSG_CMSG_CLOEXEC);
    const struct cmsghdr *header = got == 1 ? CMSG_FIRSTHDR(&message) : NULL;
    if (header && header->cmsg_level == SOL_SOCKET && header->cmsg_type == SCM_RIGHTS &&
        header->cmsg_len == CMSG_LEN(sizeof fd)) {
        memcpy(&fd, CMSG_DATA(header), sizeof fd);
    }
    close(from);
    errno = fd < 0 ? EAGAIN : errno;
    return fd;
}
