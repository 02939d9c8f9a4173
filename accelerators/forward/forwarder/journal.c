// SPDX-License-Identifier: Apache-2.0
#include "journal.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

#include "journal_scan.h"
#include "log.h"

void segment_name(char name[SEGMENT_NAME_BYTES], uint64_t number, bool done)
{
    snprintf(name, SEGMENT_NAME_BYTES, "segment-%016" PRIx64 "%s", number, done ? ".done" : "");
}

static int write_all(int fd, struct iovec *parts, int count, uint64_t position)
{
    while (count) {
        const ssize_t bytes = pwritev(fd, parts, count, (off_t)position);
        if (bytes < 0 && errno == EINTR) {
            continue;
        }
        if (bytes <= 0) {
            return bytes ? errno : EIO;
        }
        position += (uint64_t)bytes;
        size_t left = (size_t)bytes;
        while (count && left >= parts->iov_len) {
            left -= parts->iov_len;
            parts++;
            count--;
        }
        if (count) {
            parts->iov_base = (char *)parts->iov_base + left;
            parts->iov_len -= left;
        }
    }
    return 0;
}

int journal_write(const struct segment *segment, uint64_t position, const struct record *record, const char *export,
                  const char *path, const uint8_t *data)
{
    uint8_t header[RECORD_HEADER_BYTES];
    record_encode(header, record, segment->nonce, export, path, data);
    struct iovec parts[] = {{header, sizeof header},
                            {(void *)(uintptr_t) export, record->export_bytes},
                            {(void *)(uintptr_t)path, record->path_bytes},
                            {(void *)(uintptr_t)data, record->length}};
    return write_all(segment->fd, parts, 4, position);
}

int journal_read(const struct segment *segment, uint64_t position, uint8_t *to, uint32_t length)
{
    while (length) {
        const ssize_t bytes = pread(segment->fd, to, length, (off_t)position);
        if (bytes < 0 && errno == EINTR) {
            continue;
        }
        if (bytes <= 0) {
            return bytes ? errno : EIO;
        }
        to += bytes;
        length -= (uint32_t)bytes;
        position += (uint64_t)bytes;
    }
    return 0;
}

static void segment_free(struct segment *segment)
{
    if (segment->fd >= 0) {
        close(segment->fd);
    }
    if (segment->done_fd >= 0) {
        close(segment->done_fd);
    }
    free(segment);
}

static void segment_unlink(const struct journal *journal, const struct segment *segment)
{
    char name[SEGMENT_NAME_BYTES];
    segment_name(name, segment->number, false); // first, so that no record is left without its mark
    unlinkat(journal->directory, name, 0);
    segment_name(name, segment->number, true);
    unlinkat(journal->directory, name, 0);
}

static void segment_remove(struct journal *journal, struct segment *segment)
{
    struct segment **place = &journal->segments;
    while (*place != segment) {
        place = &(*place)->next;
    }
    *place = segment->next;
    journal->used -= segment->used;
    segment_unlink(journal, segment);
    segment_free(segment);
}

// Make a new segment the current one.
static int segment_add(struct journal *journal)
{
    struct segment *segment = calloc(1, sizeof *segment);
    char name[SEGMENT_NAME_BYTES];
    uint8_t header[RECORD_HEADER_BYTES];
    if (!segment) {
        return -1;
    }
    *segment =
        (struct segment){.number = journal->next_number++, .fd = -1, .done_fd = -1, .used = SEGMENT_HEADER_BYTES};
    const int sync = journal->sync ? O_DSYNC : 0;
    segment_name(name, segment->number, false);
    segment->fd = openat(journal->directory, name, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC | sync, 0600);
    segment_name(name, segment->number, true);
    segment->done_fd = openat(journal->directory, name, O_RDWR | O_CREAT | O_EXCL | O_APPEND | O_CLOEXEC | sync, 0600);
    struct iovec part = {header, sizeof header};
    int failed = segment->fd < 0 || segment->done_fd < 0 ? errno : 0;
    if (!failed && getrandom(segment->nonce, NONCE_BYTES, 0) != NONCE_BYTES) {
        failed = EIO;
    }
    if (!failed) {
        segment_encode(header, segment->nonce);
        failed = write_all(segment->fd, &part, 1, 0);
    }
    if (!failed && journal->sync && fsync(journal->directory)) {
        failed = errno;
    }
    if (failed) {
        log_line("the flash cache cannot be extended: %s; writes go through until it can", strerror(failed));
        segment_unlink(journal, segment);
        segment_free(segment);
        return -1;
    }
    segment->next = journal->segments;
    journal->segments = segment;
    journal->current = segment;
    journal->used += segment->used;
    return 0;
}

void journal_pause(struct journal *journal)
{
    journal->pause = PAUSED_RECORDS;
}

struct segment *journal_reserve(struct journal *journal, const struct record *record, uint64_t *position)
{
    const uint64_t room = record_room(record);
    struct segment *old = journal->current;
    if (journal->pause) {
        journal->pause--;
        return NULL;
    }
    const bool full = !old || old->used + room > journal->segment_bytes;
    if (journal->used + room + (full ? SEGMENT_HEADER_BYTES : 0) > journal->most) {
        return NULL;
    }
    if (full && segment_add(journal)) {
        journal_pause(journal);
        return NULL;
    }
    if (full && old && old->live == 0) {
        segment_remove(journal, old);
    }
    struct segment *segment = journal->current;
    *position = segment->used;
    segment->used += room;
    segment->live++;
    journal->used += room;
    return segment;
}

// Alter a byte of a record, so that its checksum is wrong. This needs no space on flash, unlike a mark.
static int spoil(const struct segment *segment, uint64_t position)
{
    uint8_t byte;
    const int failed = journal_read(segment, position, &byte, 1);
    byte = (uint8_t)~byte;
    struct iovec part = {&byte, 1};
    return failed ? failed : write_all(segment->fd, &part, 1, position);
}

void journal_done(struct journal *journal, struct segment *segment, uint64_t sequence, uint64_t position)
{
    uint8_t entry[DONE_BYTES];
    // The current segment is kept until it is half full, since making one for each small burst would cost more.
    if (--segment->live == 0 && (segment != journal->current || segment->used > journal->segment_bytes / 2)) {
        if (journal->current == segment) {
            journal->current = NULL;
        }
        segment_remove(journal, segment);
        return;
    }
    done_encode(entry, sequence, segment->nonce);
    if (write(segment->done_fd, entry, sizeof entry) != (ssize_t)sizeof entry && spoil(segment, position)) {
        log_line("the flash cache cannot be written to: %s; a restart will write some data again", strerror(errno));
    }
}

int journal_open(struct journal *journal, const char *path, uint64_t most, bool sync, journal_found *found, void *own,
                 char *error, size_t room)
{
    uint64_t segment_bytes = most / SEGMENTS;
    segment_bytes = segment_bytes < SEGMENT_BYTES_MIN ? SEGMENT_BYTES_MIN : segment_bytes;
    *journal = (struct journal){.lock = -1,
                                .sync = sync,
                                .most = most,
                                .segment_bytes = segment_bytes > SEGMENT_BYTES_MAX ? SEGMENT_BYTES_MAX : segment_bytes};
    journal->directory = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (journal->directory >= 0) {
        journal->lock = openat(journal->directory, "lock", O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    }
    if (journal->lock < 0) {
        snprintf(error, room, "flash=\"%.200s\" cannot be used: %s", path, strerror(errno));
        return -1;
    }
    if (flock(journal->lock, LOCK_EX | LOCK_NB)) {
        snprintf(error, room, "flash=\"%.200s\" is in use by another forwarder: give each one a directory of its own",
                 path);
        return -1;
    }
    if (journal_scan(journal, found, own)) {
        snprintf(error, room, "flash=\"%.200s\" cannot be read: %s", path, strerror(errno));
        return -1;
    }
    for (struct segment *segment = journal->segments, *next; segment; segment = next) {
        next = segment->next;
        if (segment->live == 0) {
            segment_remove(journal, segment);
        }
    }
    return 0;
}

void journal_close(struct journal *journal)
{
    while (journal->segments) {
        struct segment *segment = journal->segments;
        journal->segments = segment->next;
        if (segment->live == 0) {
            segment_unlink(journal, segment);
        }
        segment_free(segment);
    }
    if (journal->lock >= 0) {
        close(journal->lock);
    }
    if (journal->directory >= 0) {
        close(journal->directory);
    }
    *journal = (struct journal){.directory = -1, .lock = -1};
}
