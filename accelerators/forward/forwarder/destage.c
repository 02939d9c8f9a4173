// SPDX-License-Identifier: Apache-2.0
// Moves delayed writes to the file system. Neighbouring pieces are written together.
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "log.h"
#include "request.h"
#include "store.h"
#include "writer.h"

struct unit;

struct unit_part {
    struct extent extent;
    struct work work; // reads the bytes from flash
    struct unit *unit;
    struct message *loaded; // these bytes; NULL if they are in RAM
    int failed;
};

// One write of neighbouring extents.
struct unit {
    struct scheduled scheduled; // first, so that it can be converted
    struct unit *next;          // of the file
    struct file *file;
    uint64_t from;
    uint64_t to;
    unsigned count;
    unsigned loading;
    struct unit_part parts[UNIT_PARTS_MAX];
};

static bool is_being_written(const struct file *file, uint64_t from, uint64_t to)
{
    for (const struct unit *unit = file->units; unit; unit = unit->next) {
        if (unit->from < to && from < unit->to) {
            return true;
        }
    }
    return false;
}

// Find the oldest extent that can be written now: no write of the same bytes is in progress.
static bool find_start(const struct file *file, struct extent *start)
{
    unsigned looked = 0;
    for (struct piece *piece = file->first; piece && looked < LOOK_AHEAD_PIECES; piece = piece->next) {
        uint64_t from = piece->offset;
        const uint64_t to = piece->offset + piece->length;
        looked += piece->remaining > 0; // those that newer writes replaced are passed over, however many there are
        while (piece->remaining && from < to && overlay_find(&file->overlay, from, to, start, 1)) {
            if (start->piece == piece && !is_being_written(file, start->from, start->to)) {
                return true;
            }
            from = start->to;
        }
    }
    return false;
}

// Collect a unit of up to `most` bytes that begins with an extent.
static struct unit *collect(struct file *file, struct extent start, uint64_t most)
{
    struct extent found[UNIT_PARTS_MAX];
    struct unit *unit = calloc(1, sizeof *unit);
    if (!unit) {
        return NULL;
    }
    const size_t total = overlay_find(&file->overlay, start.from, start.from + most, found, UNIT_PARTS_MAX);
    *unit = (struct unit){.file = file, .from = start.from, .to = start.from};
    for (size_t i = 0; i < total && i < UNIT_PARTS_MAX; i++) {
        if (found[i].from != unit->to || is_being_written(file, found[i].from, found[i].to)) {
            break;
        }
        piece_share(found[i].piece);
        unit->parts[unit->count++] = (struct unit_part){.extent = found[i], .unit = unit};
        unit->to = found[i].to;
    }
    return unit;
}

static void finish(struct unit *unit)
{
    struct file *file = unit->file;
    struct cache *cache = file->cache;
    struct unit **place = &file->units;
    while (*place != unit) {
        place = &(*place)->next;
    }
    *place = unit->next;
    cache->units--;
    file->busy++;
    for (unsigned i = 0; i < unit->count; i++) {
        message_release(unit->parts[i].loaded);
        piece_release(unit->parts[i].extent.piece);
    }
    scheduler_remove(&cache->forwarder->scheduler, &unit->scheduled);
    free(unit);
    file->busy--;
    file_settle(file);
    ram_pump(cache);
    destage_pump(cache);
}

// Take the first bytes of a unit out of the cache: they are written, or cannot be.
static void drop(struct unit *unit, uint64_t bytes)
{
    const uint64_t end = unit->from + bytes;
    for (unsigned i = 0; i < unit->count && unit->file->state != FILE_STRANDED; i++) {
        struct extent extent = unit->parts[i].extent;
        extent.to = extent.to < end ? extent.to : end;
        if (extent.from < extent.to && overlay_drop(&unit->file->overlay, extent, piece_dropped)) {
            log_line("there is no memory: some data will be written twice");
        }
    }
}

static void written(void *own, struct message *reply)
{
    struct unit *unit = own;
    const uint64_t bytes = unit->to - unit->from;
    if (reply && reply->bytes[4] == TWRITE + 1 && reply->length >= 11) {
        const uint32_t count = wire_get32(reply->bytes + 7);
        const uint64_t good = count < bytes ? count : bytes;
        unit->file->cache->forwarder->metrics.destaged_bytes += good;
        drop(unit, good);
        if (!good) {
            file_error(unit->file, EIO, bytes);
            drop(unit, bytes);
        }
    } else if (reply) {
        file_error(unit->file, reply->length >= 11 ? wire_get32(reply->bytes + 7) : EIO, bytes);
        drop(unit, bytes);
    }
    message_release(reply);
    finish(unit);
}

// Return the bytes of a part, and their owner.
static struct link_part bytes_of(const struct unit_part *part)
{
    const struct piece *piece = part->extent.piece;
    const size_t length = (size_t)(part->extent.to - part->extent.from);
    if (part->loaded) {
        return (struct link_part){.bytes = part->loaded->bytes, .length = length, .owner = message_share(part->loaded)};
    }
    const uint8_t *bytes = piece->data + (part->extent.from - piece->offset);
    return (struct link_part){.bytes = bytes, .length = length, .owner = message_share(piece->message)};
}

static void dispatch(struct scheduled *scheduled)
{
    struct unit *unit = (struct unit *)scheduled;
    struct file *file = unit->file;
    const uint32_t bytes = (uint32_t)(unit->to - unit->from);
    struct message *request = writer_request(TWRITE, WRITE_BYTES, file->fid);
    bool is_ready = request && file->state == FILE_OPEN;

    for (unsigned i = 0; i < unit->count; i++) {
        // A piece that was superseded meanwhile has no bytes any more.
        is_ready = is_ready && (unit->parts[i].loaded || unit->parts[i].extent.piece->message);
    }
    if (!is_ready) {
        message_release(request);
        written(unit, NULL);
        return;
    }
    struct link_part parts[UNIT_PARTS_MAX];
    for (unsigned i = 0; i < unit->count; i++) {
        parts[i] = bytes_of(&unit->parts[i]);
    }
    wire_put32(request->bytes, WRITE_BYTES + bytes);
    wire_put64(request->bytes + 11, unit->from);
    wire_put32(request->bytes + 19, bytes);
    writer_call(file->writer, request, parts, unit->count, written, unit);
}

static void schedule(struct unit *unit)
{
    unit->scheduled = (struct scheduled){.arrived_ns = scheduler_now(),
                                         .file = unit->file->inode,
                                         .offset = unit->from,
                                         .bytes = (uint32_t)(unit->to - unit->from),
                                         .is_write = true,
                                         .job = "",
                                         .dispatch = dispatch};
    scheduler_add(&unit->file->cache->forwarder->scheduler, &unit->scheduled);
}

static void load(struct work *work)
{
    struct unit_part *part = (struct unit_part *)((char *)work - offsetof(struct unit_part, work));
    const struct piece *piece = part->extent.piece;
    const uint64_t position = piece->position + (part->extent.from - piece->offset);
    part->failed =
        journal_read(piece->segment, position, part->loaded->bytes, (uint32_t)(part->extent.to - part->extent.from));
}

static void loaded(struct work *work)
{
    struct unit_part *part = (struct unit_part *)((char *)work - offsetof(struct unit_part, work));
    struct unit *unit = part->unit;
    part->extent.piece->loading--;
    if (--unit->loading) {
        return;
    }
    int failed = 0;
    for (unsigned i = 0; i < unit->count; i++) {
        failed = unit->parts[i].failed ? unit->parts[i].failed : failed;
    }
    if (failed) {
        log_line("the flash cache cannot be read: %s", strerror(failed));
        file_error(unit->file, (uint32_t)failed, unit->to - unit->from);
        drop(unit, unit->to - unit->from);
        finish(unit);
    } else {
        schedule(unit);
    }
}

static void start(struct unit *unit)
{
    struct file *file = unit->file;
    unit->next = file->units;
    file->units = unit;
    file->cache->units++;
    for (unsigned i = 0; i < unit->count; i++) {
        struct unit_part *part = &unit->parts[i];
        if (!part->extent.piece->message) {
            part->loaded = message_new((uint32_t)(part->extent.to - part->extent.from), 0, 0);
            part->work = (struct work){.run = load, .done = loaded};
            unit->loading += part->loaded != NULL;
        }
    }
    for (unsigned i = 0; i < unit->count; i++) {
        if (unit->parts[i].loaded) {
            unit->parts[i].extent.piece->loading++;
            pool_add(file->cache->pool, &unit->parts[i].work);
        }
    }
    if (!unit->loading) {
        schedule(unit);
    }
}

// Start a write of a file, if one can start. Return whether it did.
static bool write_some(struct file *file)
{
    struct extent extent;
    if (file->state != FILE_OPEN || !find_start(file, &extent)) {
        return false;
    }
    struct unit *unit = collect(file, extent, file->writer->msize - OVERHEAD_BYTES);
    if (unit) {
        start(unit);
    }
    return unit != NULL;
}

static bool is_over(uint64_t used, int64_t size, int64_t percent)
{
    return used > (uint64_t)size / 100 * (uint64_t)percent;
}

// Return the next file with delayed data, and make it the last one. File systems write to a file one by one, and may
// have different files on different data servers, so that many files have to be written at a time.
static struct file *next_in_turn(struct cache *cache)
{
    struct file *file = cache->dirty_first;
    if (file != cache->dirty_last) {
        cache->dirty_first = file->dirty_next;
        cache->dirty_first->dirty_previous = NULL;
        cache->dirty_last->dirty_next = file;
        file->dirty_previous = cache->dirty_last;
        file->dirty_next = NULL;
        cache->dirty_last = file;
    }
    return file;
}

void destage_pump(struct cache *cache)
{
    const struct settings *settings = &cache->forwarder->settings;
    const uint64_t now_ns = scheduler_now();
    const uint64_t age_ns = (uint64_t)settings->destage_after * 1000000U;
    if (cache->is_pumping) {
        return;
    }
    cache->is_pumping = true;
    const bool is_full = cache->has_flash
                             ? is_over(cache->journal.used, settings->flash_bytes, settings->flash_threshold)
                             : is_over(cache->ram_bytes, settings->ram_bytes, settings->ram_threshold);
    const int64_t usual = settings->flash_destagers;
    const int64_t most = settings->workers > usual ? settings->workers : usual;
    uint64_t wake_ns = 0;
    uint64_t idle = 0; // files in sequence for which nothing was started
    while (idle < cache->dirty_count && cache->units < (unsigned)most) {
        struct file *file = next_in_turn(cache);
        const uint64_t due_ns = file->first->arrived_ns + age_ns;
        const bool is_urgent = file->first->sequence <= file->urgent;
        idle++;
        if (is_urgent || ((is_full || due_ns <= now_ns) && cache->units < (unsigned)usual)) {
            idle = write_some(file) ? 0 : idle;
        } else if (due_ns > now_ns && (!wake_ns || due_ns < wake_ns)) {
            wake_ns = due_ns;
        }
    }
    cache->is_pumping = false;
    if (wake_ns) {
        const uint64_t wait_us = (wake_ns - now_ns) / 1000 + 1;
        const struct timeval wait = {.tv_sec = (time_t)(wait_us / 1000000),
                                     .tv_usec = (suseconds_t)(wait_us % 1000000)};
        event_add(cache->timer, &wait);
    }
}
