// SPDX-License-Identifier: Apache-2.0
#include "journal_scan.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define RECORD_BYTES_MAX (RECORD_HEADER_BYTES + 65535U + PATH_BYTES_MAX + MSIZE_MAX)

struct numbers {
    uint64_t *list;
    size_t count;
};

static int compare(const void *left, const void *right)
{
    const uint64_t a = *(const uint64_t *)left;
    const uint64_t b = *(const uint64_t *)right;
    return (a > b) - (a < b);
}

// Read the sequence numbers of the records that are done, in order. A torn last entry is left out, and cut off so that
// later entries are aligned.
static int read_done(const struct segment *segment, struct numbers *done)
{
    struct stat file;
    if (fstat(segment->done_fd, &file)) {
        return -1;
    }
    const size_t entries = (size_t)file.st_size / DONE_BYTES;
    if ((size_t)file.st_size % DONE_BYTES && ftruncate(segment->done_fd, (off_t)(entries * DONE_BYTES))) {
        return -1;
    }
    done->list = malloc((entries + 1) * sizeof *done->list);
    if (!done->list) {
        return -1;
    }
    for (size_t i = 0; i < entries; i++) {
        uint8_t entry[DONE_BYTES];
        if (pread(segment->done_fd, entry, DONE_BYTES, (off_t)(i * DONE_BYTES)) != (ssize_t)DONE_BYTES) {
            return -1;
        }
        done->count += done_decode(entry, &done->list[done->count], segment->nonce);
    }
    qsort(done->list, done->count, sizeof *done->list, compare);
    return 0;
}

static void scan_records(struct segment *segment, const struct numbers *done, uint64_t size, uint8_t *whole,
                         journal_found *found, void *own)
{
    uint64_t position = SEGMENT_HEADER_BYTES;
    while (position + RECORD_HEADER_BYTES <= size) {
        struct record record;
        uint64_t next = position + RECORD_ALIGN; // a torn record may be followed by whole ones
        if (!journal_read(segment, position, whole, RECORD_HEADER_BYTES) && record_decode(whole, &record)) {
            const uint64_t bytes = record_bytes(&record);
            if (position + bytes <= size && !journal_read(segment, position, whole, (uint32_t)bytes) &&
                record_intact(whole, bytes, segment->nonce)) {
                next = position + record_room(&record);
                if (!bsearch(&record.sequence, done->list, done->count, sizeof *done->list, compare)) {
                    const char *export = (const char *)whole + RECORD_HEADER_BYTES;
                    segment->live++;
                    found(own, &record, segment, position, export, export + record.export_bytes);
                }
            }
        }
        position = next;
    }
    segment->used = position;
}

static int scan_segment(struct journal *journal, uint64_t number, uint8_t *whole, journal_found *found, void *own)
{
    char name[SEGMENT_NAME_BYTES];
    struct segment *segment = calloc(1, sizeof *segment);
    if (!segment) {
        return -1;
    }
    *segment = (struct segment){.number = number, .fd = -1, .done_fd = -1, .next = journal->segments};
    journal->segments = segment;
    const int sync = journal->sync ? O_DSYNC : 0;
    segment_name(name, number, false);
    segment->fd = openat(journal->directory, name, O_RDWR | O_CLOEXEC | sync);
    segment_name(name, number, true);
    segment->done_fd = openat(journal->directory, name, O_RDWR | O_CREAT | O_APPEND | O_CLOEXEC | sync, 0600);
    struct stat file;
    if (segment->fd < 0 || segment->done_fd < 0 || fstat(segment->fd, &file)) {
        return -1;
    }
    struct numbers done = {0};
    int result = 0;
    // A segment without a whole header was just being made, and has no records.
    if (!journal_read(segment, 0, whole, RECORD_HEADER_BYTES) && segment_decode(whole, segment->nonce)) {
        result = read_done(segment, &done);
        if (!result) {
            scan_records(segment, &done, (uint64_t)file.st_size, whole, found, own);
        }
    }
    free(done.list);
    journal->used += segment->used;
    return result;
}

int journal_scan(struct journal *journal, journal_found *found, void *own)
{
    const int fd = dup(journal->directory);
    DIR *directory = fd < 0 ? NULL : fdopendir(fd);
    uint8_t *whole = malloc(RECORD_BYTES_MAX);
    int result = directory && whole ? 0 : -1;
    if (!directory && fd >= 0) {
        close(fd);
    }
    for (struct dirent *entry; !result && (entry = readdir(directory));) {
        uint64_t number;
        int length = 0;
        if (sscanf(entry->d_name, "segment-%16" SCNx64 "%n", &number, &length) != 1) {
            continue;
        }
        char name[SEGMENT_NAME_BYTES];
        const bool is_done = !strcmp(entry->d_name + length, ".done");
        segment_name(name, number, is_done);
        if (strcmp(entry->d_name, name) != 0) { // not a name that a forwarder gives
            continue;
        }
        if (!is_done) {
            result = scan_segment(journal, number, whole, found, own);
            journal->next_number = number >= journal->next_number ? number + 1 : journal->next_number;
            continue;
        }
        segment_name(name, number, false);
        if (faccessat(journal->directory, name, F_OK, 0) && errno == ENOENT) {
            unlinkat(journal->directory, entry->d_name, 0); // its segment was removed just before the end
        }
    }
    free(whole);
    if (directory) {
        closedir(directory);
    }
    return result;
}
