// SPDX-License-Identifier: Apache-2.0
#include "replay.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "log.h"
#include "request.h"

struct left {
    struct record record;
    struct segment *segment;
    uint64_t position;
    char *export;
    char *path;
};

struct found {
    struct left *list;
    size_t count;
    size_t room;
    bool failed;
};

static void on_found(void *own, const struct record *record, struct segment *segment, uint64_t position,
                     const char *export, const char *path)
{
    struct found *found = own;
    if (found->count == found->room) {
        const size_t room = found->room * 2 + 256;
        struct left *list = realloc(found->list, room * sizeof *list);
        if (!list) {
            found->failed = true;
            return;
        }
        found->list = list;
        found->room = room;
    }
    struct left *left = &found->list[found->count];
    *left = (struct left){.record = *record,
                          .segment = segment,
                          .position = position + record_bytes(record) - record->length,
                          .export = strndup(export, record->export_bytes),
                          .path = strndup(path, record->path_bytes)};
    found->failed = found->failed || !left->export || !left->path;
    found->count++;
}

static int compare(const void *left, const void *right)
{
    const uint64_t a = ((const struct left *)left)->record.sequence;
    const uint64_t b = ((const struct left *)right)->record.sequence;
    return (a > b) - (a < b);
}

static bool lay(struct cache *cache, const struct left *left)
{
    const struct record *record = &left->record;
    struct file *file = file_get(cache, left->export, record->inode, left->path, record->user);
    struct piece *piece = file ? piece_add(file, record->sequence, record->offset, record->length) : NULL;
    if (!piece) {
        return false;
    }
    piece->segment = left->segment;
    piece->position = left->position;
    file->urgent = record->sequence;
    cache->sequence = record->sequence;
    cache->forwarder->metrics.replayed_bytes += record->length;
    return true;
}

int replay(struct cache *cache, char *error, size_t room)
{
    const struct settings *settings = &cache->forwarder->settings;
    struct found found = {0};
    int result = journal_open(&cache->journal, settings->flash, (uint64_t)settings->flash_bytes,
                              settings->flash_sync != 0, on_found, &found, error, room);
    if (found.count) {
        qsort(found.list, found.count, sizeof *found.list, compare);
    }
    for (size_t i = 0; i < found.count; i++) {
        found.failed = found.failed || (!result && !lay(cache, &found.list[i]));
        free(found.list[i].export);
        free(found.list[i].path);
    }
    free(found.list);
    if (!result && found.failed) {
        snprintf(error, room, "there is no memory for the writes in flash=\"%.200s\"", settings->flash);
        result = -1;
    } else if (!result && cache->delayed_bytes) {
        log_line("%" PRIu64 " bytes in %" PRIu64 " files were on flash, and go to the file system now",
                 cache->delayed_bytes, cache->dirty_count);
    }
    return result;
}
