// SPDX-License-Identifier: Apache-2.0
// Reads that overlap delayed writes. The delayed writes are noted when the read goes to diod: if they get to the file
// system meanwhile, diod may have read before or after.
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "log.h"
#include "request.h"
#include "store.h"

struct snapshot_part {
    struct extent extent;
    struct work work; // reads the bytes from flash
    struct snapshot *snapshot;
    struct message *bytes; // has these bytes, because the piece may give up its RAM meanwhile
    const uint8_t *data;
    int failed;
};

struct snapshot {
    struct request *request; // NULL if it has ended
    struct message *reply;   // of diod
    bool is_asked;           // the reply is there, or not needed
    unsigned loading;
    bool is_whole;
    size_t count;
    struct snapshot_part parts[];
};

bool snapshot_is_whole(const struct request *request)
{
    return request->snapshot && request->snapshot->is_whole;
}

static void destroy(struct snapshot *snapshot)
{
    for (size_t i = 0; i < snapshot->count; i++) {
        message_release(snapshot->parts[i].bytes);
        piece_release(snapshot->parts[i].extent.piece);
    }
    message_release(snapshot->reply);
    free(snapshot);
}

void snapshot_release(struct snapshot *snapshot)
{
    if (snapshot) {
        snapshot->request = NULL;
        if (!snapshot->loading) {
            destroy(snapshot);
        }
    }
}

// Build the reply: diod's bytes, zeros up to the end of the delayed writes, and these in place of both.
static void compose(struct request *request, const struct message *reply)
{
    const struct snapshot *snapshot = request->snapshot;
    const uint32_t read = reply ? wire_get32(reply->bytes + 7) : 0;
    uint64_t end = request->offset + (read < request->bytes ? read : request->bytes);
    end = request->cached_end > end ? request->cached_end : end;
    uint64_t count = end - request->offset;
    count = count < request->bytes ? count : request->bytes;
    struct message *result = message_new(READ_REPLY_BYTES + (uint32_t)count, TREAD + 1, request->tag);
    if (!result) {
        request_fail(request, ENOMEM);
        return;
    }
    uint8_t *data = result->bytes + READ_REPLY_BYTES;
    wire_put32(result->bytes + 7, (uint32_t)count);
    memset(data, 0, count);
    if (reply) {
        memcpy(data, reply->bytes + READ_REPLY_BYTES, read < count ? read : count);
    }
    for (size_t i = 0; snapshot && i < snapshot->count; i++) {
        const struct snapshot_part *part = &snapshot->parts[i];
        const uint64_t at = part->extent.from - request->offset;
        if (at < count) {
            memcpy(data + at, part->data, part->extent.to - part->extent.from);
        }
    }
    request_end(request, result);
}

static void load(struct work *work)
{
    struct snapshot_part *part = (struct snapshot_part *)((char *)work - offsetof(struct snapshot_part, work));
    const struct piece *piece = part->extent.piece;
    const uint64_t position = piece->position + (part->extent.from - piece->offset);
    part->failed =
        journal_read(piece->segment, position, part->bytes->bytes, (uint32_t)(part->extent.to - part->extent.from));
}

static void answer_if_ready(struct snapshot *snapshot)
{
    int failed = 0;
    if (snapshot->loading || !snapshot->is_asked) {
        return;
    }
    for (size_t i = 0; i < snapshot->count; i++) {
        failed = snapshot->parts[i].failed ? snapshot->parts[i].failed : failed;
    }
    if (failed) {
        log_line("the flash cache cannot be read: %s", strerror(failed));
        request_fail(snapshot->request, EIO);
    } else {
        compose(snapshot->request, snapshot->reply);
    }
}

static void loaded(struct work *work)
{
    struct snapshot_part *part = (struct snapshot_part *)((char *)work - offsetof(struct snapshot_part, work));
    struct snapshot *snapshot = part->snapshot;
    struct file *file = part->extent.piece->file;
    file->busy++;
    part->extent.piece->loading--;
    snapshot->loading--;
    if (snapshot->request) {
        answer_if_ready(snapshot);
    } else if (!snapshot->loading) {
        destroy(snapshot);
    }
    file->busy--;
    file_settle(file);
}

// Add a part to a snapshot; bytes that are only on flash begin to be read. Return 0; -1 without memory.
static int fill_part(struct snapshot *snapshot, struct extent extent)
{
    struct piece *piece = extent.piece;
    struct snapshot_part *part = &snapshot->parts[snapshot->count];
    *part = (struct snapshot_part){.extent = extent, .snapshot = snapshot};
    if (piece->message) {
        part->bytes = message_share(piece->message);
        part->data = piece->data + (extent.from - piece->offset);
    } else {
        part->bytes = message_new((uint32_t)(extent.to - extent.from), 0, 0);
        if (!part->bytes) {
            return -1;
        }
        part->data = part->bytes->bytes;
        part->work = (struct work){.run = load, .done = loaded};
        piece->loading++;
        snapshot->loading++;
        pool_add(piece->file->cache->pool, &part->work);
    }
    snapshot->count++;
    piece_share(piece);
    return 0;
}

int snapshot_take(struct request *request, const struct file *file)
{
    const uint64_t from = request->offset;
    const uint64_t to = from + request->bytes;
    const size_t count = to > from ? overlay_find(&file->overlay, from, to, NULL, 0) : 0;
    request->cached_end = file->overlay.end;
    if (!count) {
        return 0;
    }
    struct snapshot *snapshot = calloc(1, sizeof *snapshot + count * sizeof *snapshot->parts);
    struct extent *found = calloc(count, sizeof *found);
    if (!snapshot || !found) {
        free(snapshot);
        free(found);
        return -1;
    }
    overlay_find(&file->overlay, from, to, found, count);
    uint64_t end = from;
    int result = 0;
    for (size_t i = 0; i < count; i++) {
        result = result || fill_part(snapshot, found[i]) ? -1 : 0;
        end = found[i].from == end ? found[i].to : end;
    }
    free(found);
    snapshot->is_whole = end == to;
    if (result) {
        snapshot_release(snapshot);
        return -1;
    }
    snapshot->request = request;
    request->snapshot = snapshot;
    return 0;
}

void snapshot_answer(struct request *request, struct message *reply)
{
    struct snapshot *snapshot = request->snapshot;
    if (!snapshot) {
        compose(request, reply);
        message_release(reply);
        return;
    }
    snapshot->reply = reply;
    snapshot->is_asked = true;
    request->state = REQUEST_HELD;
    answer_if_ready(snapshot);
}
