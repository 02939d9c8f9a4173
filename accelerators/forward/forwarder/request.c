// SPDX-License-Identifier: Apache-2.0
#include "request.h"

#include <errno.h>
#include <stdlib.h>

#include "cache.h"
#include "effects.h"
#include "fids.h"
#include "order.h"

static void dispatch(struct scheduled *scheduled);

struct request *request_find(const struct session *session, uint16_t tag)
{
    struct request *request = session->tags[tag % TAG_BUCKETS];
    while (request && request->tag != tag) {
        request = request->tag_next;
    }
    return request;
}

struct request *request_new(struct session *session, struct message *message)
{
    struct request *request = calloc(1, sizeof *request);
    if (!request) {
        return NULL;
    }
    const uint16_t tag = wire_get16(message->bytes + 5);
    *request = (struct request){.session = session,
                                .message = message,
                                .type = message->bytes[4],
                                .tag = tag,
                                .upstream_tag = NO_TAG,
                                .scheduled = {.arrived_ns = scheduler_now(), .dispatch = dispatch}};
    if (request->type == TREAD || request->type == TWRITE) {
        request->offset = wire_get64(message->bytes + 11);
        request->bytes = wire_get32(message->bytes + 19);
    }
    request->tag_next = session->tags[tag % TAG_BUCKETS];
    session->tags[tag % TAG_BUCKETS] = request;
    session->request_count++;
    return request;
}

static enum operation operation_of(const struct request *request)
{
    return request->type == TREAD ? OPERATION_READ : request->type == TWRITE ? OPERATION_WRITE : OPERATION_OTHER;
}

// Return the access pattern that a request belongs to; NULL if it does not read or write a job's file.
static struct pattern *pattern_of(const struct request *request)
{
    const enum operation operation = operation_of(request);
    const bool counts = operation != OPERATION_OTHER && request->session->job && request->fid && request->fid->root;
    return counts ? &request->session->job->patterns[operation] : NULL;
}

void request_count(struct request *request)
{
    struct pattern *pattern = pattern_of(request);
    if (pattern) {
        const struct access access = {.owner = request->session->job->number * OPERATIONS + operation_of(request),
                                      .file = request->fid->inode,
                                      .offset = request->offset,
                                      .bytes = request->bytes};
        patterns_arrived(&request->session->forwarder->metrics.patterns, pattern, &access,
                         request->scheduled.arrived_ns);
    }
}

// Return the bytes that a request read or wrote.
static uint64_t bytes_in(const struct message *reply)
{
    const bool failed = reply->bytes[4] == RLERROR || reply->length < 11;
    return failed ? 0 : wire_get32(reply->bytes + 7);
}

static void count_reply(struct request *request, const struct message *reply)
{
    const uint64_t bytes = bytes_in(reply);
    const uint64_t now_ns = scheduler_now();
    struct pattern *pattern = pattern_of(request);
    metrics_count(request->session->job, operation_of(request), bytes, now_ns - request->scheduled.arrived_ns);
    if (pattern && bytes) {
        patterns_served(&request->session->forwarder->metrics.patterns, pattern, bytes, now_ns);
    }
}

static void send_to_diod(struct request *request)
{
    struct session *session = request->session;
    request->upstream_tag = session->free_tags[--session->free_tag_count];
    session->sent[request->upstream_tag] = request;
    request->state = REQUEST_SENT;
    uint8_t *bytes = request->message->bytes;
    wire_put16(bytes + 5, request->type == TVERSION ? NO_TAG : request->upstream_tag);
    cache_sent(request);
    link_send(&session->upstream, message_share(request->message));
}

static void dispatch(struct scheduled *scheduled)
{
    send_to_diod((struct request *)scheduled);
}

void request_go(struct request *request)
{
    request->is_checked = true;
    if (request->type != TREAD && request->type != TWRITE) {
        send_to_diod(request);
        return;
    }
    request->state = REQUEST_QUEUED;
    request->scheduled.file = request->fid->inode;
    request->scheduled.offset = request->offset;
    request->scheduled.bytes = request->bytes;
    request->scheduled.is_write = request->type == TWRITE;
    request->scheduled.job = request->session->job ? request->session->job->name : "";
    scheduler_add(&request->session->forwarder->scheduler, &request->scheduled);
}

void request_proceed(struct request *request)
{
    if (!cache_takes(request)) {
        request_go(request);
    }
}

static void leave_tags(struct request *request)
{
    struct session *session = request->session;
    struct request **place = &session->tags[request->tag % TAG_BUCKETS];
    while (*place != request) {
        place = &(*place)->tag_next;
    }
    *place = request->tag_next;
    if (request->upstream_tag != NO_TAG) {
        session->sent[request->upstream_tag] = NULL;
        session->free_tags[session->free_tag_count++] = request->upstream_tag;
    }
}

static void leave_flush(struct request *request)
{
    if (request->flushed) {
        struct request **place = &request->flushed->flushes;
        while (*place != request) {
            place = &(*place)->flush_next;
        }
        *place = request->flush_next;
        request->flushed = NULL;
    }
}

// Answer the Tflush requests that waited for this request; those that diod has are answered by diod.
static void answer_flushes(struct request *request)
{
    while (request->flushes) {
        struct request *flush = request->flushes;
        request->flushes = flush->flush_next;
        flush->flushed = NULL;
        if (flush->state != REQUEST_SENT) {
            request_end(flush, message_new(HEADER_BYTES, TFLUSH + 1, flush->tag));
        }
    }
}

void request_end(struct request *request, struct message *reply)
{
    struct session *session = request->session;
    struct forwarder *forwarder = session->forwarder;
    cache_forget(request);
    if (reply) {
        wire_put16(reply->bytes + 5, request->type == TVERSION ? NO_TAG : request->tag);
        if (session->job) {
            count_reply(request, reply);
        }
        if (session->client.fd >= 0) {
            link_send(&session->client, reply);
        } else {
            message_release(reply);
        }
    }
    leave_tags(request);
    leave_flush(request);
    struct request *released = request->is_ordered ? order_leave(request) : NULL;
    session->request_count--;
    scheduler_remove(&forwarder->scheduler, &request->scheduled);
    answer_flushes(request);
    fid_release(request->fid);
    fid_release(request->created);
    message_release(request->message);
    free(request);
    while (released && !session->ending) {
        struct request *next = released->released;
        request_proceed(released);
        released = next;
    }
}

void request_fail(struct request *request, uint32_t error)
{
    struct message *reply = message_new(11, RLERROR, request->tag);
    if (reply) {
        wire_put32(reply->bytes + 7, error);
    } else {
        link_fail(&request->session->client, "there is no memory");
    }
    request_end(request, reply);
}

void request_replied(struct request *request, struct message *reply)
{
    struct session *session = request->session;
    const uint8_t type = reply->bytes[4];
    if ((type != RLERROR && type != request->type + 1) || effects_of_reply(request, reply)) {
        message_release(reply);
        link_fail(&session->upstream, "a reply is malformed");
        return;
    }
    if (request->type == TFLUSH && request->flushed) {
        struct request *old = request->flushed; // diod will not answer it any more
        effects_undo(old);
        leave_flush(request);
        request_end(old, NULL);
    }
    if (request->scheduled.state == SCHEDULED_RUNNING) {
        load_served(&session->forwarder->scheduler.load, bytes_in(reply));
    }
    scheduler_remove(&session->forwarder->scheduler, &request->scheduled);
    reply = cache_replied(request, reply);
    if (reply) {
        request_end(request, reply);
    }
}
