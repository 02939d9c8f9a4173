// SPDX-License-Identifier: Apache-2.0
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "log.h"
#include "request.h"
#include "store.h"
#include "writer.h"

static size_t bucket_of(const char *export, uint64_t inode)
{
    uint64_t hash = inode * 0x9E3779B97F4A7C15U;
    for (; *export; export ++) {
        hash = (hash ^ (unsigned char)*export) * 0x100000001B3U;
    }
    return (size_t)(hash >> 32) % FILE_BUCKETS;
}

struct file *file_find(const struct cache *cache, const char *export, uint64_t inode)
{
    if (!cache->file_count) {
        return NULL;
    }
    struct file *file = cache->files[bucket_of(export, inode)];
    while (file && (file->inode != inode || strcmp(file->export, export) != 0)) {
        file = file->next;
    }
    return file;
}

void file_found(struct file *file, const char *path, uint32_t user)
{
    char *copy = file->user == user && file->state != FILE_OPENING && strcmp(file->path, path) ? strdup(path) : NULL;
    if (copy) {
        free(file->path);
        file->path = copy;
    }
}

struct file *file_get(struct cache *cache, const char *export, uint64_t inode, const char *path, uint32_t user)
{
    struct file *file = file_find(cache, export, inode);
    if (file) {
        file_found(file, path, user);
        return file;
    }
    if (cache->file_count >= FILES_MAX) {
        return NULL;
    }
    file = calloc(1, sizeof *file);
    if (!file) {
        return NULL;
    }
    *file = (struct file){.cache = cache, .inode = inode, .user = user, .export = strdup(export), .path = strdup(path)};
    file->writer = writer_get(cache, export, user);
    if (!file->export || !file->path || !file->writer) {
        free(file->export);
        free(file->path);
        free(file);
        return NULL;
    }
    struct file **bucket = &cache->files[bucket_of(export, inode)];
    file->next = *bucket;
    *bucket = file;
    cache->file_count++;
    return file;
}

// Take the file out of the table, so that another file can have its inode number.
static void forget(struct file *file)
{
    struct file **place = &file->cache->files[bucket_of(file->export, file->inode)];
    while (*place != file) {
        place = &(*place)->next;
    }
    *place = file->next;
    file->cache->file_count--;
}

static bool is_used(const struct file *file)
{
    return file->openings || file->first || file->units || file->busy || file->syncing || file->held;
}

// Return whether only the forwarder has a file open for writing.
static bool is_open_here(const struct file *file)
{
    return !file->openings && (file->state == FILE_OPENING || file->state == FILE_OPEN || file->state == FILE_CLOSING);
}

void file_release(struct file *file)
{
    if (is_used(file)) {
        return;
    }
    if (file->state == FILE_OPEN) {
        file_close(file);
        return;
    }
    const bool is_closed = file->state == FILE_CLOSED || file->state == FILE_REFUSED;
    if (!is_closed || file->waiters || file->errors > file->reported) {
        return;
    }
    forget(file);
    overlay_clear(&file->overlay);
    free(file->export);
    free(file->path);
    free(file);
}

bool file_closes(struct file *file)
{
    if (file->openings) {
        return false;
    }
    file->busy++;
    if (file->state == FILE_OPEN && file->busy == 1 && !file->first && !file->units && !file->syncing) {
        file_close(file);
    }
    file->busy--;
    if (is_open_here(file)) {
        return true;
    }
    file_release(file);
    return false;
}

static void leave_dirty(struct file *file)
{
    struct cache *cache = file->cache;
    *(file->dirty_previous ? &file->dirty_previous->dirty_next : &cache->dirty_first) = file->dirty_next;
    *(file->dirty_next ? &file->dirty_next->dirty_previous : &cache->dirty_last) = file->dirty_previous;
    cache->dirty_count--;
}

static bool is_done(const struct cache *cache, const struct waiter *waiter)
{
    if (waiter->file) {
        const struct file *file = waiter->file;
        const bool is_written = !file->first || file->first->sequence > waiter->until;
        return file->state == FILE_STRANDED || (is_written && !is_open_here(file));
    }
    for (const struct file *file = cache->dirty_first; file; file = file->dirty_next) {
        if (file->first->sequence <= waiter->until) {
            return false;
        }
    }
    return true;
}

// Call the waiters of a list that are done. A call may change the list, so that it is searched again.
static void call_waiters(const struct cache *cache, struct waiter **list)
{
    struct waiter **place = list;
    while (*place) {
        struct waiter *waiter = *place;
        if (is_done(cache, waiter)) {
            *place = waiter->next;
            waiter->go(waiter->own);
            free(waiter);
            place = list;
        } else {
            place = &waiter->next;
        }
    }
}

struct waiter *file_wait(struct cache *cache, struct file *file, void (*go)(void *own), void *own)
{
    struct waiter *waiter = calloc(1, sizeof *waiter);
    if (!waiter) {
        return NULL;
    }
    struct waiter **list = file ? &file->waiters : &cache->waiters;
    while (*list) { // in order of arrival
        list = &(*list)->next;
    }
    *waiter = (struct waiter){.file = file, .until = cache->sequence, .go = go, .own = own};
    *list = waiter;
    if (file) {
        file->urgent = waiter->until;
    } else {
        for (struct file *dirty = cache->dirty_first; dirty; dirty = dirty->dirty_next) {
            dirty->urgent = waiter->until;
        }
    }
    destage_pump(cache);
    return waiter;
}

void file_wait_not(struct cache *cache, struct waiter *waiter)
{
    struct waiter **place = waiter->file ? &waiter->file->waiters : &cache->waiters;
    while (*place != waiter) {
        place = &(*place)->next;
    }
    *place = waiter->next;
    if (waiter->file) {
        file_release(waiter->file);
    }
    free(waiter);
}

struct syncing {
    struct file *file;
    uint64_t until;
    void (*done)(void *own);
    void *own;
};

static void synced(void *own, struct message *reply)
{
    struct syncing *syncing = own;
    struct file *file = syncing->file;
    file->busy++;
    file->syncing--;
    if (reply && reply->bytes[4] != TFSYNC + 1) {
        file_error(file, reply->length >= 11 ? wire_get32(reply->bytes + 7) : EIO, 0);
    }
    if (reply) { // also after an error, which the kernel reports once as well
        file->synced = syncing->until > file->synced ? syncing->until : file->synced;
    }
    message_release(reply);
    if (syncing->done) {
        syncing->done(syncing->own);
    }
    free(syncing);
    file->busy--;
    struct cache *const cache = file->cache;
    file_settle(file);
    destage_pump(cache);
}

// Make pieces up to a sequence number safe on the device.
static int sync_until(struct file *file, uint64_t until, void (*done)(void *own), void *own)
{
    struct syncing *syncing = file->state == FILE_OPEN ? calloc(1, sizeof *syncing) : NULL;
    struct message *request = syncing ? writer_request(TFSYNC, 15, file->fid) : NULL;
    if (!request) {
        free(syncing);
        return -1;
    }
    *syncing = (struct syncing){.file = file, .until = until, .done = done, .own = own};
    wire_put32(request->bytes + 11, 0);
    file->syncing++;
    file->is_unsynced = false;
    writer_call(file->writer, request, NULL, 0, synced, syncing);
    return 0;
}

int file_sync(struct file *file, void (*done)(void *own), void *own)
{
    return sync_until(file, file->first ? file->first->sequence - 1 : file->cache->sequence, done, own);
}

static bool is_settled(const struct file *file, const struct piece *piece)
{
    return !piece->remaining && !piece->is_journaling && !piece->loading &&
           (!piece->segment || !file->cache->journal.sync || piece->sequence <= file->synced);
}

void file_settle(struct file *file)
{
    struct cache *cache = file->cache;
    const bool was_dirty = file->first && file->state != FILE_STRANDED;
    file->busy++;
    while (was_dirty && file->first && is_settled(file, file->first)) {
        struct piece *piece = file->first;
        file->first = piece->next;
        file->finished--;
        if (piece->segment) {
            journal_done(&cache->journal, piece->segment, piece->sequence, piece->position);
        }
        piece_release(piece);
    }
    if (was_dirty && !file->first) {
        file->last = NULL;
        leave_dirty(file);
    } else if (was_dirty && cache->journal.sync && !file->syncing) {
        const struct piece *last = NULL;
        for (const struct piece *piece = file->first; piece && !piece->remaining && !piece->is_journaling;
             piece = piece->next) {
            last = piece;
        }
        if (last) {
            sync_until(file, last->sequence, NULL, NULL);
        }
    }
    call_waiters(cache, &file->waiters);
    call_waiters(cache, &cache->waiters);
    file->busy--;
    file_release(file);
}

void file_error(struct file *file, uint32_t error, uint64_t bytes)
{
    struct metrics *metrics = &file->cache->forwarder->metrics;
    file->errors++;
    file->error = error;
    metrics->write_errors++;
    metrics->lost_bytes += bytes;
    log_line("a delayed write to %s/%s failed: %s", file->export, file->path, strerror((int)error));
}

void file_strand(struct file *file, const char *why)
{
    struct cache *cache = file->cache;
    uint64_t lost = 0;
    log_line("delayed writes to %s/%s cannot be executed: %s; those on flash are tried again at the next start",
             file->export, file->path, why);
    forget(file);
    leave_dirty(file);
    file->state = FILE_STRANDED;
    cache->stranded_files++;
    for (struct piece *piece = file->first; piece; piece = piece->next) {
        if (piece->segment) {
            cache->stranded_bytes += piece->remaining;
        } else {
            lost += piece->remaining;
        }
        cache->delayed_bytes -= piece->remaining;
        piece_forget_ram(piece);
    }
    overlay_clear(&file->overlay);
    file_error(file, EIO, lost);
    file_settle(file);
}
