// SPDX-License-Identifier: Apache-2.0
// The journal: delayed writes on flash, which a forwarder that is started again finds.
#ifndef FORWARDER_JOURNAL_H
#define FORWARDER_JOURNAL_H

#include <stdbool.h>
#include <stddef.h>

#include "limits.h"

#include "record.h"

struct segment {
    struct segment *next;
    uint64_t number;
    int fd;
    int done_fd;
    uint64_t used; // bytes
    uint64_t live; // records that are not done
    uint8_t nonce[NONCE_BYTES];
};

struct journal {
    int directory;
    int lock;
    bool sync;              // writes wait for the device
    uint64_t most;          // bytes of all segments
    uint64_t used;          // bytes of all segments
    uint64_t segment_bytes; // size at which a segment is full
    uint64_t next_number;
    unsigned pause; // reservations to refuse after an error, since each attempt takes time
    struct segment *segments;
    struct segment *current; // takes new records; NULL: none yet
};

// A record found at the start.
typedef void journal_found(void *own, const struct record *record, struct segment *segment, uint64_t position,
                           const char *export, const char *path);

// Open, or make, the journal in a directory, and report the records that are not done, in no order.
// Return 0; -1 with one line in `error`.
int journal_open(struct journal *journal, const char *path, uint64_t most, bool sync, journal_found *found, void *own,
                 char *error, size_t room);

// Reserve room for a record. Return its segment, in which it counts as not done; NULL if the flash cache is full, or
// the file system of the journal refuses.
struct segment *journal_reserve(struct journal *journal, const struct record *record, uint64_t *position);

// Refuse the next reservations, because the device has an error.
void journal_pause(struct journal *journal);

// Write a reserved record; a thread may call this. Return 0, or the error number.
int journal_write(const struct segment *segment, uint64_t position, const struct record *record, const char *export,
                  const char *path, const uint8_t *data);

// Read from a record's data; a thread may call this. Return 0, or the error number.
int journal_read(const struct segment *segment, uint64_t position, uint8_t *to, uint32_t length);

// Note that a record is done, whose data are at `position`. A full segment without other records is removed. If flash
// is full, the record is made invalid, because one that is executed again could replace newer data.
void journal_done(struct journal *journal, struct segment *segment, uint64_t sequence, uint64_t position);

// Close the files, and leave the records for the next start.
void journal_close(struct journal *journal);

#endif
