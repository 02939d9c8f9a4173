// SPDX-License-Identifier: Apache-2.0
#include "cache.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "fids.h"
#include "replay.h"
#include "store.h"
#include "writer.h"

enum write_back cache_mode(const struct session *session, const char *export)
{
    const struct settings *settings = &session->forwarder->settings;
    const struct job *job = session->job;
    const enum write_back mode =
        (enum write_back)(job && job->write_back >= 0 ? job->write_back : settings->write_back);
    const char *list = settings->exports;
    while (list && *list) {
        const size_t length = strcspn(list, ",");
        if (strlen(export) == length && !memcmp(list, export, length)) {
            return mode;
        }
        list += length + (list[length] == ',');
    }
    return settings->exports ? WRITE_BACK_OFF : mode;
}

struct file *cache_file(const struct request *request)
{
    const struct cache *cache = request->session->forwarder->cache;
    const struct fid *fid = request->fid;
    return cache && fid && fid->root ? file_find(cache, fid->root->export, fid->inode) : NULL;
}

void cache_found(const struct fid *fid, const struct session *session)
{
    const struct cache *cache = session->forwarder->cache;
    struct file *file = cache && fid->root && fid->path ? file_find(cache, fid->root->export, fid->inode) : NULL;
    if (file) {
        file_found(file, fid->path, fid->root->user);
    }
}

void cache_opened(struct fid *fid, const struct session *session)
{
    struct cache *cache = session->forwarder->cache;
    const struct root *root = fid->root;
    const bool is_plain = fid->qid_type == 0 && fid->path && root && root->user != NO_FID;
    if (!cache || !is_plain || !(fid->flags & OPEN_ACCESS) || cache_mode(session, root->export) == WRITE_BACK_OFF) {
        return;
    }
    struct file *file = file_get(cache, root->export, fid->inode, fid->path, root->user);
    if (file) {
        fid->file = file;
        fid->errors_seen = file->reported;
        file->openings++;
        writer_get(cache, file->export, file->user); // connects again after a loss
        file_open(file);
    }
}

void cache_closed(struct fid *fid)
{
    struct file *file = fid->file;
    if (file) {
        fid->file = NULL;
        file->openings--;
        file_release(file);
    }
}

void cache_sent(struct request *request)
{
    const struct file *file = request->type == TREAD || request->type == TGETATTR ? cache_file(request) : NULL;
    if (file && request->type == TGETATTR) {
        request->cached_end = file->overlay.end;
    } else if (file && file->first && request->offset <= (uint64_t)INT64_MAX && snapshot_take(request, file)) {
        link_fail(&request->session->client, "there is no memory");
    }
}

// Return an error that a file's delayed writes had, and that this fid has not reported; 0 if there is none.
static uint32_t unreported(struct fid *fid)
{
    struct file *file = fid->file;
    if (!file || file->errors <= fid->errors_seen) {
        return 0;
    }
    fid->errors_seen = file->errors;
    file->reported = file->errors;
    return file->error;
}

struct message *cache_replied(struct request *request, struct message *reply)
{
    const bool is_error = reply->bytes[4] == RLERROR;
    if (is_error) {
        return reply;
    }
    const bool is_short = request->type == TREAD && wire_get32(reply->bytes + 7) < request->bytes;
    if (request->snapshot || (is_short && request->cached_end > request->offset)) {
        snapshot_answer(request, reply);
        return NULL;
    }
    if (request->type == TGETATTR && reply->length >= GETATTR_SIZE + 8) {
        const struct file *file = cache_file(request);
        uint64_t size = wire_get64(reply->bytes + GETATTR_SIZE);
        size = request->cached_end > size ? request->cached_end : size;
        size = file && file->overlay.end > size ? file->overlay.end : size;
        wire_put64(reply->bytes + GETATTR_SIZE, size);
    }
    const uint32_t error = request->type == TFSYNC ? unreported(request->fid) : request->late_error;
    if (error) {
        message_release(reply);
        reply = message_new(11, RLERROR, request->tag);
        if (reply) {
            wire_put32(reply->bytes + 7, error);
        }
    }
    return reply;
}

void cache_ending(struct request *request)
{
    const uint32_t error = unreported(request->fid);
    request->late_error = error ? error : request->late_error;
}

void cache_forget(struct request *request)
{
    struct cache *cache = request->session->forwarder->cache;
    if (request->waiter) {
        struct waiter *waiter = request->waiter;
        request->waiter = NULL;
        file_wait_not(cache, waiter);
    }
    if (request->held_by) {
        file_holds_not(request);
    }
    if (request->closing) {
        closing_forget(request->closing);
        request->closing = NULL;
    }
    if (request->piece) {
        request->piece->request = NULL;
        request->piece = NULL;
    }
    if (request->snapshot) {
        struct snapshot *snapshot = request->snapshot;
        request->snapshot = NULL;
        snapshot_release(snapshot);
    }
}

struct draining {
    void (*done)(void *own);
    void *own;
};

static void drained(void *own)
{
    struct draining *draining = own;
    draining->done(draining->own);
    free(draining);
}

void cache_drain(struct forwarder *forwarder, void (*done)(void *own), void *own)
{
    struct cache *cache = forwarder->cache;
    struct draining *draining = cache && cache->dirty_first ? calloc(1, sizeof *draining) : NULL;
    if (!draining) {
        done(own);
        return;
    }
    *draining = (struct draining){.done = done, .own = own};
    if (!file_wait(cache, NULL, drained, draining)) {
        free(draining);
        done(own);
    }
}

unsigned cache_gauges(const struct forwarder *forwarder, struct gauge *gauges)
{
    const struct cache *cache = forwarder->cache;
    unsigned count = 0;
    if (cache) {
        gauges[count++] = (struct gauge){"ram_bytes", "RAM that delayed writes use", cache->ram_bytes};
        gauges[count++] = (struct gauge){"flash_bytes", "Flash that delayed writes use", cache->journal.used};
        gauges[count++] = (struct gauge){"delayed_bytes", "Bytes not yet in the file system", cache->delayed_bytes};
        gauges[count++] = (struct gauge){"delayed_files", "Files with such bytes", cache->dirty_count};
        gauges[count++] =
            (struct gauge){"stranded_files", "Files that are no longer at their path", cache->stranded_files};
        gauges[count++] = (struct gauge){"stranded_bytes", "Bytes on flash for these files", cache->stranded_bytes};
    }
    return count;
}

static void on_timer(evutil_socket_t fd, short what, void *own)
{
    (void)fd;
    (void)what;
    destage_pump(own);
}

int cache_start(struct forwarder *forwarder, char *error, size_t room)
{
    const struct settings *settings = &forwarder->settings;
    if (settings->write_back == WRITE_BACK_OFF && !settings->flash && !settings->control) {
        return 0;
    }
    struct cache *cache = calloc(1, sizeof *cache);
    if (cache) {
        cache->forwarder = forwarder;
        cache->timer = evtimer_new(forwarder->base, on_timer, cache);
        cache->pool = pool_start(forwarder->base, (unsigned)settings->ram_destagers);
    }
    if (!cache || !cache->timer || !cache->pool) {
        snprintf(error, room, "cannot start: %s", strerror(errno));
        return -1;
    }
    forwarder->cache = cache;
    if (settings->flash) {
        cache->has_flash = true;
        return replay(cache, error, room);
    }
    return 0;
}

bool cache_is_idle(const struct forwarder *forwarder)
{
    return !forwarder->cache || writers_are_idle(forwarder->cache);
}

void cache_stop(struct forwarder *forwarder)
{
    struct cache *cache = forwarder->cache;
    if (cache) {
        pool_stop(cache->pool);
        writers_stop(cache);
        if (cache->has_flash) {
            journal_close(&cache->journal);
        }
    }
}
