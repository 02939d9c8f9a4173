// SPDX-License-Identifier: Apache-2.0
#include "writer.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "address.h"
#include "credential.h"
#include "log.h"
#include "wire.h"

#define FIRST_FID 10U
#define AUTH_FID 1U

static const char VERSION[] = NINE_VERSION;

static void attached(void *own, struct message *reply);

void writer_retry(struct writer *writer)
{
    const struct timeval wait = {.tv_sec = RETRY_MS / 1000, .tv_usec = RETRY_MS % 1000 * 1000};
    event_add(writer->retry, &wait);
}

// Print why delayed writes are not possible; once, because each open would cause another line.
static void complain(struct writer *writer, const char *why)
{
    if (!writer->has_complained) {
        log_line("writes of user %u to %s are not delayed: %s", writer->user, writer->export, why);
    }
    writer->has_complained = true;
}

// Give up the connection, and try again if there is something to write.
static void lose(struct writer *writer)
{
    link_stop(&writer->link);
    writer->state = WRITER_WAITS;
    files_lost(writer); // first, so that no call below starts another one
    for (size_t i = 0; i < WRITER_CALLS; i++) {
        const struct writer_call call = writer->calls[i];
        writer->calls[i] = (struct writer_call){0};
        if (call.done) {
            call.done(call.own, NULL);
        }
    }
    if (files_need(writer)) {
        writer_retry(writer);
    }
}

static struct writer *of_link(struct link *link)
{
    return (struct writer *)((char *)link - offsetof(struct writer, link));
}

static void on_ended(struct link *link, const char *why)
{
    struct writer *writer = of_link(link);
    if (writer->state == WRITER_READY) {
        log_line("the connection for delayed writes to %s ends: %s", writer->export, why);
    }
    lose(writer);
}

static void on_received(struct link *link, struct message *message)
{
    struct writer *writer = of_link(link);
    uint16_t tag = wire_get16(message->bytes + 5);
    tag = tag == NO_TAG ? 0 : tag; // Tversion is the first call of a connection
    const struct writer_call call = tag < WRITER_CALLS ? writer->calls[tag] : (struct writer_call){0};
    if (!call.done) {
        message_release(message);
        link_fail(link, "a reply has an unknown tag");
        return;
    }
    writer->calls[tag] = (struct writer_call){0};
    call.done(call.own, message);
}

static const struct link_owner owner = {on_received, on_ended, NULL};

struct message *writer_request(uint8_t type, uint32_t bytes, uint32_t fid)
{
    struct message *request = message_new(bytes, type, 0);
    if (request) {
        wire_put32(request->bytes + 7, fid);
    }
    return request;
}

void writer_call(struct writer *writer, struct message *message, const struct link_part *parts, size_t count,
                 writer_done *done, void *own)
{
    uint16_t tag = 0;
    while (tag < WRITER_CALLS && writer->calls[tag].done) {
        tag++;
    }
    if (writer->link.fd < 0 || tag == WRITER_CALLS) {
        message_release(message);
        for (size_t i = 0; i < count; i++) {
            message_release(parts[i].owner);
        }
        done(own, NULL);
        return;
    }
    writer->calls[tag] = (struct writer_call){.done = done, .own = own};
    const bool is_first = message->bytes[4] == TVERSION;
    wire_put16(message->bytes + 5, is_first ? NO_TAG : tag);
    struct link_part all[UNIT_PARTS_MAX + 1] = {{.bytes = message->bytes, .length = message->length, .owner = message}};
    for (size_t i = 0; i < count; i++) {
        all[i + 1] = parts[i];
    }
    link_send_parts(&writer->link, all, count + 1);
}

static void ignore(void *own, struct message *reply)
{
    (void)own;
    message_release(reply);
}

void writer_clunk(struct writer *writer, uint32_t fid, writer_done *done, void *own)
{
    struct message *request = writer->link.fd < 0 ? NULL : writer_request(TCLUNK, 11, fid);
    done = done ? done : ignore;
    if (request) {
        writer_call(writer, request, NULL, 0, done, own);
    } else {
        done(own, NULL);
    }
}

static uint8_t *put_text(uint8_t *to, const char *text, size_t bytes)
{
    wire_put16(to, (uint16_t)bytes);
    return (uint8_t *)mempcpy(to + 2, text, bytes);
}

// Send a Tauth, or a Tattach with or without credential.
static void introduce(struct writer *writer, uint8_t type, uint32_t auth_fid, writer_done *done)
{
    const size_t bytes = strlen(writer->export);
    const uint32_t start = type == TATTACH ? 15 : 11;
    struct message *request =
        writer_request(type, start + 2 + 2 + (uint32_t)bytes + 4, type == TAUTH ? AUTH_FID : WRITER_ROOT);
    if (!request) {
        link_fail(&writer->link, "there is no memory");
        return;
    }
    if (type == TATTACH) {
        wire_put32(request->bytes + 11, auth_fid);
    }
    uint8_t *end = put_text(request->bytes + start, "", 0);
    end = put_text(end, writer->export, bytes);
    wire_put32(end, writer->user);
    writer_call(writer, request, NULL, 0, done, writer);
}

static bool is_reply(struct message *reply, uint8_t type)
{
    return reply && reply->bytes[4] == type;
}

static void admitted(void *own, struct message *reply)
{
    struct writer *writer = own;
    if (reply && is_reply(reply, TATTACH + 1)) {
        attached(own, reply);
    } else if (reply) {
        message_release(reply);
        complain(writer, "diod refuses the munge credential");
        link_fail(&writer->link, "it refuses the credential");
    }
}

static void authenticated(void *own, struct message *reply)
{
    struct writer *writer = own;
    if (is_reply(reply, TWRITE + 1)) {
        introduce(writer, TATTACH, AUTH_FID, admitted);
    } else if (reply) {
        link_fail(&writer->link, "it refuses the credential");
    }
    message_release(reply);
}

static void on_credential(void *own, char *text, const char *why)
{
    struct writer *writer = own;
    writer->makes_credential = false;
    if (!text) {
        complain(writer, why);
        link_fail(&writer->link, "there is no credential");
    } else if (writer->link.fd >= 0) {
        const uint32_t bytes = (uint32_t)strlen(text);
        struct message *request = writer_request(TWRITE, WRITE_BYTES + bytes, AUTH_FID);
        if (request) {
            wire_put64(request->bytes + 11, 0);
            wire_put32(request->bytes + 19, bytes);
            memcpy(request->bytes + WRITE_BYTES, text, bytes);
            writer_call(writer, request, NULL, 0, authenticated, writer);
        } else {
            link_fail(&writer->link, "there is no memory");
        }
    }
    free(text);
}

static void challenged(void *own, struct message *reply)
{
    struct writer *writer = own;
    const bool is_good = is_reply(reply, TAUTH + 1);
    if (reply &&
        (!is_good || writer->makes_credential || credential_make(writer->cache->pool, NULL, on_credential, writer))) {
        link_fail(&writer->link, "it refuses authentication");
    } else if (reply) {
        writer->makes_credential = true;
    }
    message_release(reply);
}

static void attached(void *own, struct message *reply)
{
    struct writer *writer = own;
    if (is_reply(reply, TATTACH + 1)) {
        writer->state = WRITER_READY;
        writer->has_complained = false;
        files_reopen(writer);
        destage_pump(writer->cache);
        if (files_need(writer)) {
            writer_retry(writer); // some files may need another attempt
        }
    } else if (reply && writer->user == geteuid()) {
        introduce(writer, TAUTH, NO_FID, challenged);
    } else if (reply) {
        complain(writer, "diod asks for a credential, so that this user must run the forwarder");
        link_fail(&writer->link, "it refuses the user");
    }
    message_release(reply);
}

static void versioned(void *own, struct message *reply)
{
    struct writer *writer = own;
    const bool is_good =
        is_reply(reply, TVERSION + 1) && reply->length >= 13 && wire_get32(reply->bytes + 7) >= MSIZE_MIN;
    if (is_good) {
        const uint32_t msize = wire_get32(reply->bytes + 7);
        writer->msize = msize < MSIZE_MAX ? msize : MSIZE_MAX;
        introduce(writer, TATTACH, NO_FID, attached);
    } else if (reply) {
        link_fail(&writer->link, "it does not speak 9P2000.L");
    }
    message_release(reply);
}

static void start_connecting(struct writer *writer)
{
    if (writer->link.fd >= 0) {
        return;
    }
    struct forwarder *forwarder = writer->cache->forwarder;
    const int fd = address_connect(forwarder->settings.diod);
    struct message *request = writer_request(TVERSION, 11 + 2 + sizeof VERSION - 1, MSIZE_MAX);
    if (fd < 0 || !request || link_start(&writer->link, forwarder->base, fd, &owner, MSIZE_MAX)) {
        message_release(request);
        if (fd >= 0 && !request) {
            close(fd);
        }
        writer_retry(writer);
        return;
    }
    writer->state = WRITER_CONNECTS;
    writer->next_fid = FIRST_FID;
    put_text(request->bytes + 11, VERSION, sizeof VERSION - 1);
    writer_call(writer, request, NULL, 0, versioned, writer);
}

static void on_retry(evutil_socket_t fd, short what, void *own)
{
    struct writer *writer = own;
    (void)fd;
    (void)what;
    if (!files_need(writer)) {
        return;
    }
    if (writer->state == WRITER_READY) {
        files_reopen(writer);
        writer_retry(writer);
    } else {
        start_connecting(writer);
    }
}

struct writer *writer_get(struct cache *cache, const char *export, uint32_t user)
{
    struct writer *writer = cache->writers;
    while (writer && (writer->user != user || strcmp(writer->export, export) != 0)) {
        writer = writer->next;
    }
    if (!writer && (writer = calloc(1, sizeof *writer))) {
        *writer = (struct writer){.cache = cache, .user = user, .link = {.fd = -1}, .export = strdup(export)};
        writer->retry = evtimer_new(cache->forwarder->base, on_retry, writer);
        if (!writer->export || !writer->retry) {
            free(writer->export);
            free(writer);
            return NULL;
        }
        writer->next = cache->writers;
        cache->writers = writer;
    }
    if (writer && writer->state == WRITER_WAITS) {
        start_connecting(writer);
    }
    return writer;
}

bool writers_are_idle(const struct cache *cache)
{
    for (const struct writer *writer = cache->writers; writer; writer = writer->next) {
        for (int i = 0; i < WRITER_CALLS; i++) {
            if (writer->calls[i].done) {
                return false;
            }
        }
    }
    return true;
}

void writers_stop(struct cache *cache)
{
    while (cache->writers) {
        struct writer *writer = cache->writers;
        cache->writers = writer->next;
        link_stop(&writer->link);
        event_free(writer->retry);
        free(writer->export);
        free(writer);
    }
}
