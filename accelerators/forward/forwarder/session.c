// SPDX-License-Identifier: Apache-2.0
#include "session.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "address.h"
#include "burst.h"
#include "cache.h"
#include "denial.h"
#include "effects.h"
#include "fids.h"
#include "log.h"
#include "order.h"
#include "request.h"

static struct session *of_client(struct link *link)
{
    return (struct session *)((char *)link - offsetof(struct session, client));
}

static struct session *of_upstream(struct link *link)
{
    return (struct session *)((char *)link - offsetof(struct session, upstream));
}

static void refuse(struct session *session, const char *why)
{
    session->client.malformed = true;
    link_fail(&session->client, why);
}

static void regulate(struct session *session)
{
    const bool full = session->request_count >= REQUESTS_MAX || session->client.queued_bytes >= SEND_QUEUE_BYTES;
    link_pause(&session->client, full);
}

static void close_fids(struct session *session)
{
    for (size_t i = 0; i < FID_BUCKETS; i++) {
        for (struct fid *fid = session->fids[i]; fid; fid = fid->next) {
            cache_closed(fid);
        }
    }
    fids_clear(session);
}

// Negotiate the size of messages. A client that does so again gives up its fids.
static uint32_t start_version(struct session *session, struct request *request)
{
    uint8_t *bytes = request->message->bytes;
    session->is_burst = session->forwarder->settings.hand_over && burst_begin(request->message, &request->drains);
    const uint32_t msize = wire_get32(bytes + 7);
    if (session->request_count > 1 || msize < MSIZE_MIN) {
        return EINVAL;
    }
    close_fids(session);
    wire_put32(bytes + 7, msize < MSIZE_MAX ? msize : MSIZE_MAX);
    return 0;
}

static void flush(struct request *request)
{
    struct session *session = request->session;
    struct request *old = request_find(session, wire_get16(request->message->bytes + 7));
    if (!old || old == request) {
        request_end(request, message_new(HEADER_BYTES, TFLUSH + 1, request->tag));
        return;
    }
    if (old->state == REQUEST_BLOCKED || old->state == REQUEST_QUEUED) {
        effects_undo(old);
        request_end(old, NULL);
        request_end(request, message_new(HEADER_BYTES, TFLUSH + 1, request->tag));
        return;
    }
    request->flushed = old;
    request->flush_next = old->flushes;
    old->flushes = request;
    request->state = REQUEST_HELD;
    if (old->state == REQUEST_SENT) {
        wire_put16(request->message->bytes + 7, old->upstream_tag);
        request_go(request);
    }
}

static void from_client(struct link *link, struct message *message)
{
    struct session *session = of_client(link);
    const struct wire_kind *kind = wire_kind(message->bytes[4]);
    const uint16_t tag = wire_get16(message->bytes + 5);
    const char *wrong = kind && !wire_valid(kind, message->bytes, message->length) ? "a message is malformed"
                        : (tag == NO_TAG) != (message->bytes[4] == TVERSION)       ? "a message has an invalid tag"
                        : request_find(session, tag)                               ? "a tag is used twice"
                        : !session->msize && message->bytes[4] != TVERSION         ? "it does not begin with Tversion"
                                                                                   : NULL;
    struct request *request = wrong ? NULL : request_new(session, message);
    if (!request) {
        message_release(message);
        refuse(session, wrong ? wrong : "there is no memory");
        return;
    }
    if (request->type == TFLUSH) {
        flush(request);
    } else {
        uint32_t failed = !kind                       ? EOPNOTSUPP
                          : request->type == TVERSION ? start_version(session, request)
                                                      : effects_of_request(request, kind);
        if (!failed && request->type == TREAD && request->bytes > session->msize - READ_REPLY_BYTES) {
            failed = EINVAL; // the reply could not be sent
        }
        if (failed) {
            effects_undo(request);
            request_fail(request, failed);
        } else {
            request_count(request);
            if (request->fid && order_applies(request->type)) {
                order_enter(request);
            }
            if (!request->blockers) {
                request_proceed(request);
            }
        }
    }
    regulate(session);
}

static void from_diod(struct link *link, struct message *message)
{
    struct session *session = of_upstream(link);
    uint16_t tag = wire_get16(message->bytes + 5);
    if (tag == NO_TAG) { // the reply to Tversion, the only request in service
        for (tag = 0; tag < UPSTREAM_TAGS && !session->sent[tag]; tag++) {
        }
    }
    struct request *request = tag < UPSTREAM_TAGS ? session->sent[tag] : NULL;
    if (!request) {
        message_release(message);
        link_fail(link, "a reply has an unknown tag");
        return;
    }
    if (request->type == TVERSION && message->bytes[4] == TVERSION + 1 && message->length >= 13) {
        const uint32_t msize = wire_get32(message->bytes + 7);
        if (msize < MSIZE_MIN) {
            message_release(message);
            link_fail(link, "it offers messages that are too small");
            return;
        }
        session->msize = msize < MSIZE_MAX ? msize : MSIZE_MAX;
        session->client.largest = session->msize;
        session->upstream.largest = session->msize;
    }
    if (request->type == TVERSION && session->is_burst && !(message = burst_answer(message))) {
        link_fail(link, "there is no memory");
        return;
    }
    request_replied(request, message);
    if (session->ending && !session->request_count) {
        session_end(session);
        return;
    }
    regulate(session);
}

static void free_session(evutil_socket_t fd, short what, void *own)
{
    (void)fd;
    (void)what;
    free(own);
}

// Free the memory from the event loop, because callers may still use it.
static void finish(struct session *session)
{
    session->freed = true;
    link_stop(&session->upstream);
    *(session->previous ? &session->previous->next : &session->forwarder->sessions) = session->next;
    if (session->next) {
        session->next->previous = session->previous;
    }
    session->forwarder->metrics.connections--;
    metrics_leave(&session->forwarder->metrics, session->job);
    const struct timeval now = {0};
    event_base_once(session->forwarder->base, -1, EV_TIMEOUT, free_session, session, &now);
}

// Return a request whose reply nobody needs; NULL if there is none. diod gets a signal and dies if it answers on a
// closed connection, so its answers are awaited.
static struct request *unneeded(const struct session *session)
{
    for (size_t i = 0; i < TAG_BUCKETS; i++) {
        for (struct request *request = session->tags[i]; request; request = request->tag_next) {
            if (request->state != REQUEST_SENT || session->upstream.fd < 0) {
                return request;
            }
        }
    }
    return NULL;
}

void session_end(struct session *session)
{
    if (session->freed) {
        return;
    }
    link_stop(&session->client);
    session->ending = true;
    denial_end(session->denial);
    session->denial = NULL;
    for (struct request *request; (request = unneeded(session));) {
        effects_undo(request);
        request_end(request, NULL);
    }
    if (session->request_count) {
        return;
    }
    close_fids(session);
    finish(session);
}

static void client_ended(struct link *link, const char *why)
{
    struct session *session = of_client(link);
    if (link->malformed) {
        session->forwarder->metrics.refused++;
        log_line("a client's connection ends: %s", why);
    }
    session_end(session);
}

static void diod_ended(struct link *link, const char *why)
{
    struct session *session = of_upstream(link);
    log_line("a connection to diod at %s ends: %s", session->forwarder->settings.diod, why);
    link_stop(link);
    session_end(session);
}

static void client_drained(struct link *link)
{
    regulate(of_client(link));
}

static const struct link_owner client_side = {from_client, client_ended, client_drained};
static const struct link_owner diod_side = {from_diod, diod_ended, NULL};

static void accept_client(struct forwarder *forwarder, int fd, struct denial *denial, unsigned attempts);

// A client that waits until diod takes a further connection on its Unix socket.
struct arrival {
    struct forwarder *forwarder;
    int fd;
    struct denial *denial;
    unsigned attempts;
};

static void on_arrival(evutil_socket_t fd, short what, void *own)
{
    struct arrival *arrival = own;
    (void)fd;
    (void)what;
    accept_client(arrival->forwarder, arrival->fd, arrival->denial, arrival->attempts);
    free(arrival);
}

// Return whether the client waits for another attempt.
static bool arrive_later(struct forwarder *forwarder, int fd, struct denial *denial, unsigned attempts)
{
    const struct timeval wait = {.tv_usec = CONNECT_WAIT_US};
    struct arrival *arrival = attempts < CONNECT_ATTEMPTS ? malloc(sizeof *arrival) : NULL;
    if (!arrival) {
        return false;
    }
    *arrival = (struct arrival){.forwarder = forwarder, .fd = fd, .denial = denial, .attempts = attempts + 1};
    if (event_base_once(forwarder->base, -1, EV_TIMEOUT, on_arrival, arrival, &wait)) {
        free(arrival);
        return false;
    }
    return true;
}

static void accept_client(struct forwarder *forwarder, int fd, struct denial *denial, unsigned attempts)
{
    struct session *session = NULL;
    int upstream = -1;
    if (forwarder->metrics.connections >= SESSIONS_MAX) {
        log_line("a client is refused: there are %d connections", SESSIONS_MAX);
    } else if ((upstream = address_connect(forwarder->settings.diod)) < 0) {
        if (errno == EAGAIN && arrive_later(forwarder, fd, denial, attempts)) {
            return;
        }
        log_line("a client is refused: diod at %s cannot be reached: %s", forwarder->settings.diod, strerror(errno));
    } else {
        session = calloc(1, sizeof *session);
    }
    if (!session) {
        forwarder->metrics.refused++;
        denial_end(denial);
        close(fd);
        if (upstream >= 0) {
            close(upstream);
        }
        return;
    }
    session->forwarder = forwarder;
    session->denial = denial;
    session->client.fd = -1;
    session->job = forwarder->settings.job ? metrics_job(&forwarder->metrics, forwarder->settings.job) : NULL;
    metrics_use(&forwarder->metrics, session->job);
    for (uint16_t i = 0; i < UPSTREAM_TAGS; i++) {
        session->free_tags[session->free_tag_count++] = i;
    }
    session->next = forwarder->sessions;
    if (session->next) {
        session->next->previous = session;
    }
    forwarder->sessions = session;
    forwarder->metrics.connections++;
    forwarder->metrics.connections_total++;
    const int failed = link_start(&session->upstream, forwarder->base, upstream, &diod_side, MSIZE_MAX);
    if (link_start(&session->client, forwarder->base, fd, &client_side, MSIZE_MIN) || failed) {
        session_end(session);
    }
}

void session_accept(struct forwarder *forwarder, int fd, struct denial *denial)
{
    address_tune(fd);
    accept_client(forwarder, fd, denial, 0);
}
