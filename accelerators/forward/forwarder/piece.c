// SPDX-License-Identifier: Apache-2.0
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "log.h"
#include "request.h"
#include "store.h"

// Memory of a piece with its message, for the size of the cache.
static uint64_t ram_of(const struct piece *piece)
{
    return sizeof *piece + piece->message->length;
}

void piece_share(struct piece *piece)
{
    piece->references++;
}

void piece_release(struct piece *piece)
{
    if (--piece->references == 0) {
        piece_forget_ram(piece);
        free(piece);
    }
}

struct piece *piece_add(struct file *file, uint64_t sequence, uint64_t offset, uint32_t length)
{
    struct piece *piece = calloc(1, sizeof *piece);
    if (!piece) {
        return NULL;
    }
    *piece = (struct piece){.file = file,
                            .sequence = sequence,
                            .offset = offset,
                            .length = length,
                            .remaining = length,
                            .references = 1,
                            .arrived_ns = scheduler_now()};
    if (overlay_put(&file->overlay, (struct extent){offset, offset + length, piece}, piece_dropped)) {
        free(piece);
        return NULL;
    }
    struct cache *cache = file->cache;
    if (!file->first) {
        file->dirty_next = NULL;
        file->dirty_previous = cache->dirty_last;
        *(cache->dirty_last ? &cache->dirty_last->dirty_next : &cache->dirty_first) = file;
        cache->dirty_last = file;
        cache->dirty_count++;
    }
    *(file->last ? &file->last->next : &file->first) = piece;
    file->last = piece;
    cache->delayed_bytes += length;
    return piece;
}

void piece_hold(struct piece *piece, struct message *message, const uint8_t *data)
{
    struct cache *cache = piece->file->cache;
    piece->message = message_share(message);
    piece->data = data;
    piece->ram_next = NULL;
    piece->ram_previous = cache->ram_last;
    *(cache->ram_last ? &cache->ram_last->ram_next : &cache->ram_first) = piece;
    cache->ram_last = piece;
    cache->ram_bytes += ram_of(piece);
}

void piece_forget_ram(struct piece *piece)
{
    if (piece->message) {
        struct cache *cache = piece->file->cache;
        cache->ram_bytes -= ram_of(piece);
        *(piece->ram_previous ? &piece->ram_previous->ram_next : &cache->ram_first) = piece->ram_next;
        *(piece->ram_next ? &piece->ram_next->ram_previous : &cache->ram_last) = piece->ram_previous;
        message_release(piece->message);
        piece->message = NULL;
        piece->data = NULL;
    }
}

void piece_dropped(struct piece *piece, uint64_t bytes)
{
    piece->remaining -= (uint32_t)bytes;
    piece->file->cache->delayed_bytes -= bytes;
    if (!piece->remaining) {
        piece->file->finished++;
        piece_forget_ram(piece);
    }
}

// A record that a thread writes. It has copies of everything, since the file may change meanwhile.
struct recording {
    struct work work;
    struct piece *piece;
    struct message *message; // of the piece
    const uint8_t *data;
    struct segment *segment;
    uint64_t position;
    struct record record;
    int failed;
    char *texts; // export and path
};

static void run(struct work *work)
{
    struct recording *recording = (struct recording *)work;
    const char *export = recording->texts;
    recording->failed = journal_write(recording->segment, recording->position, &recording->record, export,
                                      export + recording->record.export_bytes, recording->data);
}

void piece_answer(struct request *request)
{
    struct message *reply = message_new(11, TWRITE + 1, request->tag);
    if (reply) {
        wire_put32(reply->bytes + 7, request->bytes);
    } else {
        link_fail(&request->session->client, "there is no memory");
    }
    request_end(request, reply);
}

static void answer_written(void *own)
{
    struct request *request = own;
    request->waiter = NULL;
    piece_answer(request);
}

void piece_answer_when_written(struct piece *piece, struct request *request)
{
    struct file *file = piece->file;
    const bool is_stranded = file->state == FILE_STRANDED;
    request->waiter = is_stranded ? NULL : file_wait(file->cache, file, answer_written, request);
    if (!request->waiter) {
        request_fail(request, is_stranded ? EIO : ENOMEM);
    }
}

static void done(struct work *work)
{
    struct recording *recording = (struct recording *)work;
    struct piece *piece = recording->piece;
    struct file *file = piece->file;
    struct cache *cache = file->cache;
    struct request *request = piece->request;
    file->busy++;
    piece->request = NULL;
    piece->is_journaling = false;
    cache->journaling--;
    if (recording->failed) {
        log_line("the flash cache cannot be written to: %s", strerror(recording->failed));
        journal_done(&cache->journal, piece->segment, piece->sequence, piece->position);
        journal_pause(&cache->journal);
        piece->segment = NULL;
        if (request) {
            request->piece = NULL;
            piece_answer_when_written(piece, request);
        }
    } else {
        cache->forwarder->metrics.journaled_bytes += piece->length;
        if (request) {
            request->piece = NULL;
            piece_answer(request);
        }
    }
    piece_release(piece);
    message_release(recording->message);
    free(recording->texts);
    free(recording);
    file->busy--;
    file_settle(file);
    ram_pump(cache);
    destage_pump(cache);
}

bool piece_journal(struct piece *piece)
{
    struct file *file = piece->file;
    struct cache *cache = file->cache;
    const size_t export_bytes = strlen(file->export);
    const size_t path_bytes = strlen(file->path);
    struct recording *recording = calloc(1, sizeof *recording);
    char *texts = recording ? malloc(export_bytes + path_bytes + 1) : NULL;
    if (!texts) {
        free(recording);
        return false;
    }
    mempcpy(mempcpy(texts, file->export, export_bytes), file->path, path_bytes);
    *recording = (struct recording){.work = {.run = run, .done = done},
                                    .piece = piece,
                                    .texts = texts,
                                    .record = {.sequence = piece->sequence,
                                               .inode = file->inode,
                                               .offset = piece->offset,
                                               .length = piece->length,
                                               .user = file->user,
                                               .export_bytes = (uint16_t)export_bytes,
                                               .path_bytes = (uint16_t)path_bytes}};
    uint64_t position;
    piece->segment = journal_reserve(&cache->journal, &recording->record, &position);
    if (!piece->segment) {
        free(texts);
        free(recording);
        return false;
    }
    recording->segment = piece->segment;
    recording->position = position;
    recording->data = piece->data;
    recording->message = message_share(piece->message);
    piece->position = position + record_bytes(&recording->record) - piece->length;
    piece_share(piece);
    piece->is_journaling = true;
    cache->journaling++;
    pool_add(cache->pool, &recording->work);
    return true;
}

void ram_pump(struct cache *cache)
{
    const struct settings *settings = &cache->forwarder->settings;
    const uint64_t threshold = (uint64_t)settings->ram_bytes / 100 * (uint64_t)settings->ram_threshold;
    if (!cache->has_flash) {
        return;
    }
    struct piece *piece = cache->ram_first;
    while (piece && cache->ram_bytes > threshold) {
        struct piece *const next = piece->ram_next;
        if (piece->segment && !piece->is_journaling) {
            piece_forget_ram(piece);
        } else if (!piece->segment && piece->remaining &&
                   (cache->journaling >= 2 * (unsigned)settings->ram_destagers || !piece_journal(piece))) {
            return;
        }
        piece = next;
    }
}
