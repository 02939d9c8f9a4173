// SPDX-License-Identifier: Apache-2.0
// Which requests the cache answers, which must wait for delayed writes, and which go to diod.
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "cache.h"
#include "fids.h"
#include "store.h"

// Flags of an open after which writes must not be delayed.
#define DIRECT_FLAGS (OPEN_APPEND | OPEN_DSYNC | OPEN_SYNC | OPEN_DIRECT)

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
    if (cache_covers(forwarder, request->fid->root->export)) {
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
           (settings->write_back != WRITE_BACK_FLASH ||
            cache->journaling < FLASH_QUEUE_MAX * (unsigned)settings->ram_destagers) &&
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
    struct file *file = cache_file(request);
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
