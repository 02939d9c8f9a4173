// SPDX-License-Identifier: Apache-2.0
#include "effects.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "cache.h"
#include "fids.h"
#include "proof.h"

static struct fid *usable(const struct session *session, uint32_t number)
{
    struct fid *fid = fids_find(session, number);
    return fid && !fid->pending && !fid->ended ? fid : NULL;
}

// Replace the number of an existing fid at `position`; return the fid, or NULL if there is none.
static struct fid *replace(struct request *request, uint32_t position)
{
    uint8_t *field = request->message->bytes + position;
    struct fid *fid = usable(request->session, wire_get32(field));
    if (fid) {
        wire_put32(field, fid->upstream);
    }
    return fid;
}

static uint32_t create(struct request *request, uint32_t position, struct root *root)
{
    uint8_t *field = request->message->bytes + position;
    const uint32_t number = wire_get32(field);
    if (number == NO_FID || fids_find(request->session, number)) {
        return EBADF;
    }
    struct fid *fid = fids_create(request->session, number, root);
    if (!fid) {
        return ENOMEM;
    }
    request->created = fid_share(fid);
    wire_put32(field, fid->upstream);
    return 0;
}

static uint32_t attach(struct request *request)
{
    struct session *session = request->session;
    const struct message *message = request->message;
    uint32_t position = 15;
    uint16_t user_bytes;
    uint16_t export_bytes;
    const char *user = wire_string(message->bytes, message->length, &position, &user_bytes);
    const char *export = wire_string(message->bytes, message->length, &position, &export_bytes);
    const struct fid *auth = NULL;
    if (wire_get32(message->bytes + 11) != NO_FID && !(auth = replace(request, 11))) {
        return EBADF;
    }
    request->is_proved = auth && auth->is_auth;
    const uint32_t number = message->length - position >= 4 ? wire_get32(message->bytes + position) : NO_FID;
    struct root *root = root_new(export, export_bytes, number);
    if (!root) {
        return ENOMEM;
    }
    const uint32_t failed = create(request, 7, root);
    root_release(root);
    if (!failed && !session->job) {
        char name[JOB_NAME_MAX + 1] = {0};
        memcpy(name, user, user_bytes < JOB_NAME_MAX ? user_bytes : JOB_NAME_MAX);
        session->job = metrics_job(&session->forwarder->metrics, name);
        metrics_use(&session->forwarder->metrics, session->job);
    }
    return failed;
}

static uint32_t walk(struct request *request, struct fid *fid)
{
    const uint32_t number = wire_get32(request->message->bytes + 11);
    if (number == fid->number) {
        wire_put32(request->message->bytes + 11, fid->upstream);
        return fid->is_open ? EBADF : 0;
    }
    return create(request, 11, request->type == TWALK ? fid->root : NULL);
}

uint32_t effects_of_request(struct request *request, const struct wire_kind *kind)
{
    if (kind->type == TATTACH) {
        return attach(request);
    }
    // diod would wait for munged too, and with it its other clients. Without afid, it decides by itself.
    if (kind->type == TAUTH && proof_hangs()) {
        return ETIMEDOUT;
    }
    if (kind->creates_first) {
        return create(request, 7, NULL);
    }
    if (!kind->first_exists) {
        return 0;
    }
    struct fid *fid = replace(request, 7);
    if (!fid) {
        return EBADF;
    }
    request->fid = fid_share(fid);
    if (kind->creates_second) {
        return walk(request, fid);
    }
    if (kind->second_exists && !replace(request, 11)) {
        return EBADF;
    }
    if (kind->type == TRENAMEAT) {
        const uint32_t position = wire_second_directory(request->message->bytes, request->message->length);
        return replace(request, position) ? 0 : EBADF;
    }
    if (kind->type == TCLUNK || kind->type == TREMOVE) {
        fid->ended = true;
    }
    return 0;
}

static void walked(struct request *request, const struct message *reply)
{
    struct fid *from = request->fid;
    struct fid *to = request->created ? request->created : from;
    const uint8_t *bytes = request->message->bytes;
    const uint16_t names = wire_get16(bytes + 15);
    const uint16_t found = wire_get16(reply->bytes + 7);
    if (found < names) {
        if (request->created) {
            fids_remove(request->session, request->created);
        }
        return;
    }
    char *path = from->path ? strdup(from->path) : NULL;
    uint32_t position = 17;
    for (uint16_t i = 0; i < names; i++) {
        uint16_t name_bytes;
        const char *name = wire_string(bytes, request->message->length, &position, &name_bytes);
        char *longer = fid_path(path, name, name_bytes);
        free(path);
        path = longer;
    }
    free(to->path != path ? to->path : NULL);
    to->path = path;
    to->inode = names ? wire_get64(reply->bytes + 9 + (names - 1) * QID_BYTES + 5) : from->inode;
    to->qid_type = names ? reply->bytes[9 + (names - 1) * QID_BYTES] : from->qid_type;
    to->pending = false;
    cache_found(to, request->session);
}

static void opened(struct request *request, const struct message *reply)
{
    struct fid *fid = request->fid;
    const uint8_t *bytes = request->message->bytes;
    uint32_t position = 11;
    if (request->type == TLCREATE) {
        uint16_t name_bytes;
        const char *name = wire_string(bytes, request->message->length, &position, &name_bytes);
        char *path = fid_path(fid->path, name, name_bytes);
        free(fid->path);
        fid->path = path;
    }
    fid->flags = request->message->length - position >= 4 ? wire_get32(bytes + position) : 0;
    fid->qid_type = reply->bytes[7];
    fid->inode = wire_get64(reply->bytes + 12);
    fid->is_open = true;
    cache_opened(fid, request->session);
}

int effects_of_reply(struct request *request, const struct message *reply)
{
    const bool failed = reply->bytes[4] == RLERROR;
    if (failed && reply->length < 11) {
        return -1;
    }
    switch (request->type) {
    case TCLUNK:
    case TREMOVE: // these end the fid even if they fail
        cache_ending(request);
        cache_closed(request->fid);
        fids_remove(request->session, request->fid);
        return 0;
    case TWALK:
        if (!failed && (reply->length < 9 || reply->length < 9 + wire_get16(reply->bytes + 7) * QID_BYTES)) {
            return -1;
        }
        break;
    case TLOPEN:
    case TLCREATE:
    case TATTACH:
        if (!failed && reply->length < 7 + QID_BYTES) {
            return -1;
        }
        break;
    case TREAD:
        if (!failed &&
            (reply->length < READ_REPLY_BYTES || wire_get32(reply->bytes + 7) != reply->length - READ_REPLY_BYTES)) {
            return -1;
        }
        return 0;
    case TWRITE:
        return !failed && reply->length < 11 ? -1 : 0;
    default:
        break;
    }
    if (failed) {
        effects_undo(request);
    } else if (request->type == TWALK) {
        walked(request, reply);
    } else if (request->type == TLOPEN || request->type == TLCREATE) {
        opened(request, reply);
    } else if (request->created) {
        request->created->pending = false;
        request->created->is_auth = request->type == TAUTH;
        if (request->type == TATTACH) {
            request->session->attached = true;
            metrics_let_in(request->session->job, request->is_proved ? request->created->root->user : USER_UNKNOWN);
            request->created->path = strdup("");
            request->created->inode = wire_get64(reply->bytes + 12);
            request->created->qid_type = reply->bytes[7];
        }
    }
    return 0;
}

void effects_undo(struct request *request)
{
    if (request->created && request->created->pending) {
        fids_remove(request->session, request->created);
    }
    if (request->fid && (request->type == TCLUNK || request->type == TREMOVE)) {
        request->fid->ended = false;
    }
}
