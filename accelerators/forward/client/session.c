// SPDX-License-Identifier: Apache-2.0
#include "session.h"

#include "munge.h"
#include "raw.h"

#define TAG 1
#define DRAIN " drain"
#define PROOF " " BURST_PROOF

static enum link_result receive(struct link *link, size_t bytes, int64_t deadline_ns)
{
    struct iovec to = {link->buffer, bytes};
    return link_receive(link, &to, 1, deadline_ns);
}

static enum link_result read_reply(struct link *link, uint16_t tag, enum nine_type type, struct message *reply,
                                   int64_t deadline_ns)
{
    enum link_result result = receive(link, MESSAGE_HEADER, deadline_ns);
    if (result != LINK_OK) {
        return result;
    }
    *reply = message_of(link->buffer, MESSAGE_HEADER);
    const size_t size = message_get(reply, 4);
    const uint64_t got = message_get(reply, 1), tagged = message_get(reply, 2);
    if (size < MESSAGE_HEADER || size - MESSAGE_HEADER > BUFFER_BYTES || tagged != tag ||
        (got != type && got != RLERROR)) {
        return LINK_ENDED;
    }
    result = receive(link, size - MESSAGE_HEADER, deadline_ns);
    *reply = message_of(link->buffer, size - MESSAGE_HEADER);
    return result == LINK_OK && got == RLERROR ? LINK_REFUSED : result;
}

static enum link_result send_message(struct link *link, struct message *message, int64_t deadline_ns)
{
    const size_t size = message_end(message, 0);
    struct iovec from = {link->buffer, size};
    link->in_order = link->in_order && !size;
    return size ? link_send(link, &from, 1, deadline_ns) : LINK_REFUSED; // refused: the message is too long
}

static enum link_result await_reply(struct link *link, enum nine_type type, struct message *reply, int64_t deadline_ns)
{
    const enum link_result result = read_reply(link, type == RVERSION ? MESSAGE_NO_TAG : TAG, type, reply, deadline_ns);
    link->in_order = result == LINK_OK || result == LINK_REFUSED;
    return result;
}

enum link_result session_ask(struct link *link, struct message *message, enum nine_type type, struct message *reply,
                             int64_t deadline_ns)
{
    const enum link_result result = send_message(link, message, deadline_ns);
    return result == LINK_OK ? await_reply(link, type, reply, deadline_ns) : result;
}

void session_begin(struct link *link, struct message *message, enum nine_type type)
{
    message_begin(message, link->buffer, BUFFER_BYTES, type, type == TVERSION ? MESSAGE_NO_TAG : TAG);
}

static void put_version(struct link *link, struct message *message, const char *version)
{
    session_begin(link, message, TVERSION);
    message_put(message, MESSAGE_BYTES, 4);
    message_put_string(message, version, strlen(version));
}

// Read the forwarder's answer. Returns LINK_REFUSED if the forwarder knows another version only.
static enum link_result read_version(struct link *link, struct message *reply, const char *expected)
{
    const uint64_t bytes = message_get(reply, 4);
    if (!message_get_is(reply, expected)) {
        return LINK_REFUSED;
    }
    link->message_bytes = (uint32_t)bytes;
    return bytes < MESSAGE_BYTES_MIN || bytes > MESSAGE_BYTES ? LINK_ENDED : LINK_OK;
}

// Agree on the version. Returns LINK_REFUSED if the forwarder knows another one only.
static enum link_result agree(struct link *link, const char *version, const char *expected, int64_t deadline_ns)
{
    struct message message, reply;
    put_version(link, &message, version);
    const enum link_result result = session_ask(link, &message, RVERSION, &reply, deadline_ns);
    return result == LINK_OK ? read_version(link, &reply, expected) : result;
}

enum link_result session_begin_drain(struct link *link, int64_t deadline_ns)
{
    struct message message;
    char version[BURST_BYTES + sizeof DRAIN];
    const size_t length = strlen(state_settings()->burst);
    memcpy(version, state_settings()->burst, length);
    memcpy(version + length, DRAIN, sizeof DRAIN);
    put_version(link, &message, version);
    return send_message(link, &message, deadline_ns);
}

enum link_result session_end_drain(struct link *link, int64_t deadline_ns)
{
    struct message reply;
    const enum link_result result = await_reply(link, RVERSION, &reply, deadline_ns);
    return result == LINK_OK ? read_version(link, &reply, BURST_VERSION) : result;
}

// Ask for the job's burst buffer. Without a credential, it is up to the forwarder whether it believes the user.
static enum link_result ask_for_burst(struct link *link, int64_t deadline_ns)
{
    const struct settings *settings = state_settings();
    char version[BURST_BYTES + sizeof PROOF + MUNGE_BYTES];
    const size_t length = strlen(settings->burst);
    char *credential = version + length + sizeof PROOF - 1;
    memcpy(version, settings->burst, length + 1);
    const size_t bytes =
        settings->munge && !link->in_handler ? munge_credential(credential, settings->burst, length) : 0;
    if (bytes) {
        memcpy(version + length, PROOF, sizeof PROOF - 1);
        credential[bytes] = '\0';
    }
    return agree(link, version, BURST_VERSION, deadline_ns);
}

enum link_result session_start(struct link *link, int64_t deadline_ns)
{
    enum link_result result = link_open(link, deadline_ns);
    if (result != LINK_OK) {
        return result;
    }
    const bool asks = state_settings()->burst[0];
    if (asks) {
        result = ask_for_burst(link, deadline_ns);
        link->delays = result == LINK_OK;
    }
    if (!asks || result == LINK_REFUSED) {
        result = agree(link, NINE_VERSION, NINE_VERSION, deadline_ns);
    }
    if (result != LINK_OK) {
        return result == LINK_REFUSED ? LINK_ENDED : result;
    }
    link->last_fid = session_root(PREFIXES_MAX);
    return LINK_OK;
}

uint32_t session_new_fid(struct link *link)
{
    link->last_fid = link->last_fid < MESSAGE_NO_FID - 1 ? link->last_fid + 1 : session_root(PREFIXES_MAX) + 1;
    return link->last_fid;
}

static void put_user(struct message *message, const struct prefix *prefix)
{
    const struct settings *settings = state_settings();
    message_put_string(message, settings->job, settings->job_length); // diod uses the number below
    message_put_string(message, prefix->path, prefix->length);
    message_put(message, (uint64_t)raw_call(SYS_geteuid, 0, 0, 0, 0, 0, 0), 4);
}

// Write a munge credential to an authentication fid.
static enum link_result write_credential(struct link *link, uint32_t fid, int64_t deadline_ns)
{
    struct message message, reply;
    char credential[MUNGE_BYTES];
    const size_t length = munge_credential(credential, NULL, 0);
    if (!length) {
        return LINK_REFUSED;
    }
    session_begin(link, &message, TWRITE);
    message_put(&message, fid, 4);
    message_put(&message, 0, 8);
    message_put(&message, length, 4);
    for (size_t i = 0; i < length; i++) {
        message_put(&message, (unsigned char)credential[i], 1);
    }
    const enum link_result result = session_ask(link, &message, RWRITE, &reply, deadline_ns);
    return result == LINK_OK && message_get(&reply, 4) != length ? LINK_REFUSED : result;
}

// Obtain an authentication fid that proves who the user is. `*fid` is MESSAGE_NO_FID if the forwarder requires none.
static enum link_result authenticate(struct link *link, const struct prefix *prefix, uint32_t *fid, int64_t deadline_ns)
{
    struct message message, reply;
    const uint32_t wanted = session_new_fid(link);
    *fid = MESSAGE_NO_FID;
    session_begin(link, &message, TAUTH);
    message_put(&message, wanted, 4);
    put_user(&message, prefix);
    const enum link_result result = session_ask(link, &message, RAUTH, &reply, deadline_ns);
    if (result != LINK_OK) {
        return result == LINK_REFUSED ? LINK_OK : result;
    }
    *fid = wanted;
    return write_credential(link, wanted, deadline_ns);
}

enum link_result session_attach(struct link *link, int prefix, ino_t root, int64_t deadline_ns)
{
    const struct settings *settings = state_settings();
    const struct prefix *directory = &settings->prefixes[prefix];
    struct message message, reply;
    uint32_t afid = MESSAGE_NO_FID;
    enum link_result result = LINK_OK;
    if (link->attached[prefix]) {
        return LINK_OK;
    }
    if (settings->munge && link->in_handler) {
        return LINK_REFUSED;
    }
    if (settings->munge) {
        result = authenticate(link, directory, &afid, deadline_ns);
    }
    if (result != LINK_OK) {
        return result == LINK_REFUSED ? LINK_ENDED : result;
    }
    session_begin(link, &message, TATTACH);
    message_put(&message, session_root(prefix), 4);
    message_put(&message, afid, 4);
    put_user(&message, directory);
    result = session_ask(link, &message, RATTACH, &reply, deadline_ns);
    if (result != LINK_OK) {
        return result == LINK_REFUSED ? LINK_ENDED : result;
    }
    if (message_get_qid(&reply) != root || reply.bad) {
        return LINK_ENDED;
    }
    link->attached[prefix] = true;
    return LINK_OK;
}
