// SPDX-License-Identifier: Apache-2.0
// Decides whether the cache answers a request, lets it wait for delayed writes, or leaves it to diod.
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

// A Tclunk while the file system makes its file safe.
struct closing {
    struct request *request; // NULL if it has ended
};

// Let the last close of a file for writing wait until the forwarder has closed it too, because a program that is open
// for writing cannot be executed. Return whether it waits.
static bool take_last_close(struct request *request)
{
    struct file *file = request->fid->file;
    if (!file || !file->is_watched || file->openings > 1 || file->first) {
        return false;
    }
    cache_ending(request);
    file->busy++;
    cache_closed(request->fid);
    file->busy--;
    return file_closes(file) && wait_for(request, file);
}

static void go_on_closing(struct request *request)
{
    if (!take_last_close(request)) {
        request_go(request);
    }
}

static void go_closing(void *own)
{
    struct closing *closing = own;
    if (closing->request) {
        closing->request->closing = NULL;
        go_on_closing(closing->request);
    }
    free(closing);
}

void closing_forget(struct closing *closing)
{
    closing->request = NULL;
}

// Make the file of a Tclunk safe, then let it go to diod.
static void sync_and_go(struct request *request)
{
    struct file *file = request->fid->file;
    struct closing *closing = file && file->is_unsynced ? calloc(1, sizeof *closing) : NULL;
    if (closing) {
        closing->request = request;
        request->closing = closing;
        request->state = REQUEST_HELD;
        if (!file_sync(file, go_closing, closing)) {
            return;
        }
        request->closing = NULL;
        free(closing);
    }
    go_on_closing(request);
}

static void on_written(void *own)
{
    struct request *request = own;
    request->waiter = NULL;
    sync_and_go(request);
}

static bool take_close(struct request *request, struct file *file)
{
    if (file != request->fid->file) {
        return false;
    }
    if (!file->cache->forwarder->settings.close_waits || !file->is_unsynced) {
        return take_last_close(request);
    }
    request->state = REQUEST_HELD;
    if (file->first && (request->waiter = file_wait(file->cache, file, on_written, request))) {
        return true;
    }
    sync_and_go(request);
    return true;
}

static void count_through(const struct request *request)
{
    if (cache_mode(request->session, request->fid->root->export) != WRITE_BACK_OFF) {
        request->session->forwarder->metrics.through_bytes += request->bytes;
    }
}

static bool can_delay(const struct request *request, const struct file *file, enum write_back mode)
{
    const struct fid *fid = request->fid;
    const struct cache *cache = file->cache;
    const struct settings *settings = &cache->forwarder->settings;
    const uint64_t bytes = sizeof(struct piece) + request->message->length;
    return file == fid->file && file->state == FILE_OPEN && !(fid->flags & DIRECT_FLAGS) &&
           (fid->flags & OPEN_ACCESS) && file->errors == file->reported && request->bytes > 0 &&
           request->offset <= (uint64_t)INT64_MAX - request->bytes && mode != WRITE_BACK_OFF &&
           (mode != WRITE_BACK_FLASH || cache->journaling < FLASH_QUEUE_MAX * (unsigned)settings->ram_destagers) &&
           cache->ram_bytes + bytes <= (uint64_t)settings->ram_bytes;
}

// Return whether a record on flash has some of these bytes although newer ones are in the file system. It would be
// executed after a kill, because records are marked as done only in order.
static bool has_old_record(const struct file *file, uint64_t from, uint64_t to)
{
    unsigned left = file->finished;
    for (const struct piece *piece = file->first; piece && left; piece = piece->next) {
        if (!piece->remaining) {
            left--;
            if (piece->segment && piece->offset < to && from < piece->offset + piece->length) {
                return true;
            }
        }
    }
    return false;
}

static bool take_write(struct request *request, struct file *file)
{
    struct cache *cache = file->cache;
    struct forwarder *forwarder = cache->forwarder;
    const enum write_back mode = cache_mode(request->session, file->export);
    struct piece *piece = NULL;
    if (mode != WRITE_BACK_OFF && file == request->fid->file && file_holds(file, request)) {
        return true;
    }
    file->is_unsynced = true;
    if (can_delay(request, file, mode)) {
        piece = piece_add(file, cache->sequence + 1, request->offset, request->bytes);
    }
    if (!piece) {
        // diod gets the write, after older ones of the same bytes. Appending needs the whole file.
        const bool appends = request->fid->flags & OPEN_APPEND;
        const uint64_t to = request->offset + request->bytes;
        const bool overlaps = to > request->offset && (overlay_find(&file->overlay, request->offset, to, NULL, 0) > 0 ||
                                                       has_old_record(file, request->offset, to));
        count_through(request);
        return file->first && (overlaps || appends) && wait_for(request, file);
    }
    cache->sequence++;
    piece_hold(piece, request->message, request->message->bytes + WRITE_BYTES);
    if (mode == WRITE_BACK_FLASH) {
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
    if (file->first && !file->first->remaining) { // the new write replaced the oldest one
        file_settle(file);
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
    if (cache && request->drains) {
        return cache->dirty_first && wait_for(request, NULL);
    }
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
        return file && take_close(request, file);
    case TLOPEN:
        return is_dirty && (wire_get32(request->message->bytes + 11) & OPEN_TRUNCATE) && wait_for(request, file);
    case TSETATTR:
        if (file) {
            file->is_watched |= file->openings > 0;
        }
        return file && (is_dirty || file_closes(file)) && wait_for(request, file);
    case TFSYNC:
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
