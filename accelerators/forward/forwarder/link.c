// SPDX-License-Identifier: Apache-2.0
#include "link.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <unistd.h>

#include "wire.h"

void link_fail(struct link *link, const char *why)
{
    if (!link->failed && link->fd >= 0) {
        link->failed = true;
        link->why = why;
        event_del(link->readable);
        event_active(link->writable, EV_WRITE, 0);
    }
}

static void sent(struct link *link, size_t bytes)
{
    link->queued_bytes -= bytes;
    while (bytes) {
        struct link_part *part = &link->queue[link->first];
        if (bytes < part->length) {
            part->bytes += bytes;
            part->length -= bytes;
            return;
        }
        bytes -= part->length;
        message_release(part->owner);
        link->first = (link->first + 1) % link->room;
        link->count--;
    }
}

// Send as much as the socket takes; return whether all was sent.
static bool flush(struct link *link)
{
    while (link->count) {
        struct iovec parts[PARTS_PER_WRITE];
        size_t count = 0;
        for (; count < link->count && count < PARTS_PER_WRITE; count++) {
            const struct link_part *part = &link->queue[(link->first + count) % link->room];
            parts[count] = (struct iovec){.iov_base = (void *)(uintptr_t)part->bytes, .iov_len = part->length};
        }
        const struct msghdr header = {.msg_iov = parts, .msg_iovlen = count};
        const ssize_t bytes = sendmsg(link->fd, &header, MSG_NOSIGNAL | MSG_DONTWAIT);
        if (bytes < 0 && errno == EINTR) {
            continue;
        }
        if (bytes < 0) {
            if (errno != EAGAIN && errno != EWOULDBLOCK) {
                link_fail(link, "it cannot be written to");
            }
            return false;
        }
        sent(link, (size_t)bytes);
    }
    return true;
}

static int grow(struct link *link, size_t more)
{
    if (link->count + more <= link->room) {
        return 0;
    }
    const size_t room = (link->count + more) * 2;
    struct link_part *queue = malloc(room * sizeof *queue);
    if (!queue) {
        return -1;
    }
    for (size_t i = 0; i < link->count; i++) {
        queue[i] = link->queue[(link->first + i) % link->room];
    }
    free(link->queue);
    link->queue = queue;
    link->room = room;
    link->first = 0;
    return 0;
}

void link_send_parts(struct link *link, const struct link_part *parts, size_t count)
{
    if (link->fd < 0 || link->failed || grow(link, count)) {
        for (size_t i = 0; i < count; i++) {
            message_release(parts[i].owner);
        }
        link_fail(link, "there is no memory");
        return;
    }
    const bool idle = link->count == 0;
    for (size_t i = 0; i < count; i++) {
        link->queue[(link->first + link->count++) % link->room] = parts[i];
        link->queued_bytes += parts[i].length;
    }
    if (idle && !flush(link) && !link->failed) {
        event_add(link->writable, NULL);
    }
}

void link_send(struct link *link, struct message *message)
{
    const struct link_part part = {.bytes = message->bytes, .length = message->length, .owner = message};
    link_send_parts(link, &part, 1);
}

// Take messages out of the staged bytes. The last one may be partial.
static void unpack(struct link *link)
{
    uint32_t at = 0;
    while (!link->failed && !link->partial && link->staged_bytes - at >= HEADER_BYTES) {
        const uint32_t length = wire_get32(link->staged + at);
        if (length < HEADER_BYTES || length > link->largest) {
            link->malformed = true;
            link_fail(link, "a message has an invalid size");
            return;
        }
        struct message *message = message_new(length, 0, 0);
        if (!message) {
            link_fail(link, "there is no memory");
            return;
        }
        const uint32_t here = link->staged_bytes - at < length ? link->staged_bytes - at : length;
        memcpy(message->bytes, link->staged + at, here);
        at += here;
        if (here < length) {
            link->partial = message;
            link->got = here;
        } else {
            link->owner->received(link, message);
        }
        if (link->fd < 0) {
            return;
        }
    }
    link->staged_bytes -= at;
    memmove(link->staged, link->staged + at, link->staged_bytes);
}

// Read once; return whether more may be there.
static bool fill(struct link *link)
{
    struct iovec parts[2];
    int count = 0;
    uint32_t missing = 0;
    if (link->partial) {
        missing = link->partial->length - link->got;
        parts[count++] = (struct iovec){.iov_base = link->partial->bytes + link->got, .iov_len = missing};
    }
    const size_t room = sizeof link->staged - link->staged_bytes;
    parts[count++] = (struct iovec){.iov_base = link->staged + link->staged_bytes, .iov_len = room};
    const ssize_t bytes = readv(link->fd, parts, count);
    if (bytes <= 0) {
        if (bytes == 0) {
            link_fail(link, "it was closed");
        } else if (errno != EAGAIN && errno != EWOULDBLOCK && errno != EINTR) {
            link_fail(link, "it cannot be read");
        }
        return false;
    }
    uint32_t more = (uint32_t)bytes;
    if (link->partial) {
        if (more < missing) {
            link->got += more;
            return true;
        }
        more -= missing;
        struct message *message = link->partial;
        link->partial = NULL;
        link->staged_bytes += more;
        link->owner->received(link, message);
    } else {
        link->staged_bytes += more;
    }
    if (link->fd >= 0) {
        unpack(link);
    }
    return (size_t)bytes == missing + room;
}

static void on_readable(evutil_socket_t fd, short what, void *own)
{
    struct link *link = own;
    (void)fd;
    (void)what;
    for (int i = 0; i < READS_PER_TURN && link->fd >= 0 && !link->failed && !link->paused; i++) {
        if (!fill(link)) {
            return;
        }
    }
}

static void on_writable(evutil_socket_t fd, short what, void *own)
{
    struct link *link = own;
    (void)fd;
    (void)what;
    if (link->failed) {
        link->owner->ended(link, link->why);
        return;
    }
    const bool much = link->queued_bytes >= SEND_QUEUE_BYTES;
    if (!flush(link) && !link->failed) {
        event_add(link->writable, NULL);
    }
    if (much && link->queued_bytes < SEND_QUEUE_BYTES && link->owner->drained) {
        link->owner->drained(link);
    }
}

int link_start(struct link *link, struct event_base *base, int fd, const struct link_owner *owner, uint32_t largest)
{
    *link = (struct link){.fd = fd, .owner = owner, .largest = largest};
    link->readable = event_new(base, fd, EV_READ | EV_PERSIST, on_readable, link);
    link->writable = event_new(base, fd, EV_WRITE, on_writable, link);
    if (!link->readable || !link->writable || event_add(link->readable, NULL)) {
        link_stop(link);
        return -1;
    }
    return 0;
}

void link_pause(struct link *link, bool paused)
{
    if (link->fd < 0 || link->failed || link->paused == paused) {
        return;
    }
    link->paused = paused;
    if (paused) {
        event_del(link->readable);
    } else {
        event_add(link->readable, NULL);
    }
}

void link_stop(struct link *link)
{
    if (link->readable) {
        event_free(link->readable);
    }
    if (link->writable) {
        event_free(link->writable);
    }
    if (link->fd >= 0) {
        close(link->fd);
    }
    while (link->count) {
        message_release(link->queue[link->first].owner);
        link->first = (link->first + 1) % link->room;
        link->count--;
    }
    free(link->queue);
    message_release(link->partial);
    *link = (struct link){.fd = -1};
}
