// SPDX-License-Identifier: Apache-2.0
#include "cache.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "fids.h"
#include "replay.h"
#include "store.h"
#include "writer.h"

// Flags of an open after which writes must not be delayed.
#define DIRECT_FLAGS (OPEN_APPEND | OPEN_DSYNC | OPEN_SYNC | OPEN_DIRECT)

static bool has_write_back(const struct forwarder *forwarder, const char *export)
{
    const char *list = forwarder->settings.exports;
    if (forwarder->settings.write_back == WRITE_BACK_OFF) {
        return false;
    }
    while (list && *list) {
        const size_t length = strcspn(list, ",");
        if (strlen(export) == length && !memcmp(list, export, length)) {
            return true;
        }
        list += length + (list[length] == ',');
    }
    return !forwarder->settings.exports;
}

static struct file *file_of(const struct request *request)
{
    const struct cache *cache = request->session->forwarder->cache;
    const struct fid *fid = request->fid;
    return cache && fid && fid->root ? file_find(cache, fid->root->export, fid->inode) : NULL;
}

void cache_opened(struct fid *fid, const struct session *session)
{
    struct cache *cache = session->forwarder->cache;
    const struct root *root = fid->root;
    const bool is_plain = fid->qid_type == 0 && fid->path && root && root->user != NO_FID;
    if (!cache || !is_plain || !(fid->flags & OPEN_ACCESS) || !has_write_back(session->forwarder, root->export)) {
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

static void resume(void *own)
{
    struct request *request = own;
    request->waiter = NULL;
    if (request->session->ending) {
        request_end(request, NULL);
    } else {
        request_go(request);
    }
}

// Let a request wait until a file's delayed writes, or all, are in the file system.
static bool wait_for(struct request *request, struct file *file)
{
    request->state = REQUEST_HELD;
    request->waiter = file_wait(request->session->forwarder->cache, file, resume, request);
    if (!request->waiter) {
        request_fail(request, ENOMEM);
    }
    return true;
}

static void count_through(const struct request *request)
{
    struct forwarder *forwarder = request->session->forwarder;
    if (has_write_back(forwarder, request->fid->root->export)) {
        forwarder->metrics.through_bytes += request->bytes;
    }
}

static bool can_delay(const struct request *request, const struct file *file)
{
    const struct fid *fid = request->fid;
    const struct cache *cache = file->cache;
    const struct settings *settings = &cache->forwarder->settings;
    const uint64_t bytes = sizeof(struct piece) + request->message->length;
    return file == fid->file && file->state == FILE_OPEN && !(fid->flags & DIRECT_FLAGS) &&
           (fid->flags & OPEN_ACCESS) && file->errors == file->reported && request->bytes > 0 &&
           request->offset <= (uint64_t)INT64_MAX - request->bytes &&
           cache->ram_bytes + bytes <= (uint64_t)settings->ram_bytes;
}

static bool take_write(struct request *request, struct file *file)
{
    struct cache *cache = file->cache;
    struct forwarder *forwarder = cache->forwarder;
    struct piece *piece = NULL;
    if (can_delay(request, file)) {
        piece = piece_add(file, cache->sequence + 1, request->offset, request->bytes);
    }
    if (!piece) {
        // diod gets the write, after older ones of the same bytes. Appending needs the whole file.
        const bool appends = request->fid->flags & OPEN_APPEND;
        const uint64_t to = request->offset + request->bytes;
        const bool overlaps = to > request->offset && overlay_find(&file->overlay, request->offset, to, NULL, 0) > 0;
        count_through(request);
        return file->first && (overlaps || appends) && wait_for(request, file);
    }
    cache->sequence++;
    piece_hold(piece, request->message, request->message->bytes + WRITE_BYTES);
    if (forwarder->settings.write_back == WRITE_BACK_FLASH) {
        piece->request = request;
        request->piece = piece;
        request->state = REQUEST_HELD;
        if (!piece_journal(piece)) { // flash is full: the answer waits for the file system
            piece->request = NULL;
            request->piece = NULL;
            piece_answer_when_written(piece, request);
            count_through(request);
        } else {
            forwarder->metrics.cached_bytes += request->bytes;
        }
    } else {
        forwarder->metrics.cached_bytes += request->bytes;
        piece_answer(request);
    }
    ram_pump(cache);
    destage_pump(cache);
    return true;
}

static bool take_read(struct request *request, const struct file *file)
{
    if (!file->first || !request->fid->is_open || (request->fid->flags & OPEN_ACCESS) == 1 ||
        request->offset > (uint64_t)INT64_MAX) {
        return false;
    }
    if (snapshot_take(request, file)) {
        request_fail(request, ENOMEM);
        return true;
    }
    if (!snapshot_is_whole(request)) {
        snapshot_release(request->snapshot); // taken again when it is sent, since others may write before
        request->snapshot = NULL;
        return false;
    }
    snapshot_answer(request, NULL);
    return true;
}

// Return whether a dirty file has the name that a Tlcreate may truncate.
static struct file *named(const struct request *request)
{
    const struct cache *cache = request->session->forwarder->cache;
    const struct fid *fid = request->fid;
    uint32_t position = 11;
    uint16_t bytes;
    const char *name = wire_string(request->message->bytes, request->message->length, &position, &bytes);
    char *path = fid_path(fid->path, name, bytes);
    struct file *file = path ? cache->dirty_first : NULL;
    while (file && (strcmp(file->path, path) != 0 || strcmp(file->export, fid->root->export) != 0)) {
        file = file->dirty_next;
    }
    free(path);
    return file;
}

bool cache_takes(struct request *request)
{
    struct cache *cache = request->session->forwarder->cache;
    if (!cache || !request->fid || !request->fid->root) {
        return false;
    }
    struct file *file = file_of(request);
    const bool is_dirty = file && file->first;
    switch (request->type) {
    case TWRITE:
        if (!file) {
            count_through(request);
            return false;
        }
        return take_write(request, file);
    case TREAD:
        return file && take_read(request, file);
    case TCLUNK:
        return is_dirty && request->fid->file && cache->forwarder->settings.close_waits && wait_for(request, file);
    case TLOPEN:
        return is_dirty && (wire_get32(request->message->bytes + 11) & OPEN_TRUNCATE) && wait_for(request, file);
    case TFSYNC:
    case TSETATTR:
    case TREMOVE:
        return is_dirty && wait_for(request, file);
    case TLCREATE:
        file = cache->dirty_first ? named(request) : NULL;
        return file && wait_for(request, file);
    case TRENAME: // a directory may be renamed, below which files are dirty
    case TRENAMEAT:
        return cache->dirty_first && wait_for(request, NULL);
    default:
        return false;
    }
}

void cache_sent(struct request *request)
{
    const struct file *file = request->type == TREAD || request->type == TGETATTR ? file_of(request) : NULL;
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
        const struct file *file = file_of(request);
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
    request->late_error = unreported(request->fid);
}

void cache_forget(struct request *request)
{
    struct cache *cache = request->session->forwarder->cache;
    if (request->waiter) {
        struct waiter *waiter = request->waiter;
        request->waiter = NULL;
        file_wait_not(cache, waiter);
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
    if (settings->write_back == WRITE_BACK_OFF && !settings->flash) {
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
