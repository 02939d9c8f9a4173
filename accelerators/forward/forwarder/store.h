// SPDX-License-Identifier: Apache-2.0
// Data that the parts of write-back share: delayed writes, their files, and the cache that holds them.
#ifndef FORWARDER_STORE_H
#define FORWARDER_STORE_H

#include "forwarder.h"
#include "journal.h"
#include "message.h"
#include "overlay.h"
#include "pool.h"

struct request;
struct session;
struct unit;
struct writer;

// A delayed write. Its bytes are in RAM, on flash, or both.
struct piece {
    struct piece *next; // in the file, by sequence
    struct piece *ram_next;
    struct piece *ram_previous;
    struct file *file;
    uint64_t sequence;
    uint64_t offset;
    uint32_t length;
    uint32_t remaining;      // bytes that the overlay still has; 0: superseded or written
    unsigned references;     // the file's, and those of users
    struct message *message; // RAM; NULL: only on flash
    const uint8_t *data;
    struct segment *segment; // flash; NULL: only in RAM
    uint64_t position;       // of the data in the segment
    bool is_journaling;      // a thread writes the record
    unsigned loading;        // threads that read the record
    struct request *request; // to be answered when the record is written; NULL: none
    uint64_t arrived_ns;
};

// Called once all pieces of a file up to a sequence number are in the file system, or have failed, and the forwarder
// has closed the file, unless a client has it open for writing.
struct waiter {
    struct waiter *next;
    struct file *file; // NULL: all files
    uint64_t until;
    void (*go)(void *own);
    void *own;
};

struct file {
    struct file *next;       // with the same hash
    struct file *dirty_next; // in the list of files with pieces
    struct file *dirty_previous;
    struct cache *cache;
    char *export;
    char *path;
    uint32_t user;
    uint64_t inode;
    unsigned openings; // fids of clients that are open for writing
    struct overlay overlay;
    struct piece *first;
    struct piece *last;
    unsigned finished; // pieces in this list that the overlay has no bytes of
    uint64_t urgent;   // pieces up to this sequence number are written at once
    uint64_t synced;   // pieces up to this one are safe on the device; only used if flash_sync is set
    unsigned syncing;  // fsyncs in progress
    bool is_unsynced;  // it was written to since the last fsync; only kept for closes that wait
    enum { FILE_CLOSED, FILE_OPENING, FILE_OPEN, FILE_CLOSING, FILE_REFUSED, FILE_STRANDED } state;
    uint32_t fid; // of the writer
    struct writer *writer;
    struct waiter *waiters;
    struct request *held;  // writes that wait until the file is open for the writer
    struct event *holding; // ends their wait; NULL: none waits
    bool is_watched;       // somebody waited for its data while it was open, perhaps to execute it
    unsigned busy;         // reasons not to free the file, such as calls of file_settle in progress
    struct unit *units;    // writes in progress
    uint64_t errors;       // delayed writes that failed
    uint64_t reported;     // of these, known to a client
    uint32_t error;        // number of the last one
};

#define FILE_BUCKETS 4096

struct cache {
    struct forwarder *forwarder;
    struct pool *pool;
    struct journal journal;
    bool has_flash;
    uint64_t sequence; // of the last piece
    uint64_t ram_bytes;
    struct piece *ram_first; // pieces in RAM, oldest first
    struct piece *ram_last;
    unsigned journaling; // records that threads write
    struct file *files[FILE_BUCKETS];
    unsigned file_count;
    struct file *dirty_first; // files with pieces, except stranded ones
    struct file *dirty_last;
    uint64_t dirty_count;
    uint64_t delayed_bytes;
    uint64_t stranded_files;
    uint64_t stranded_bytes;
    struct waiter *waiters; // for all files
    struct writer *writers;
    unsigned units;      // writes in progress
    struct event *timer; // for the next age limit
    bool is_pumping;
};

// -- pieces (piece.c) --

// Return a new piece at the end of its file's list, laid over the others; NULL without memory.
struct piece *piece_add(struct file *file, uint64_t sequence, uint64_t offset, uint32_t length);
void piece_share(struct piece *piece);
void piece_release(struct piece *piece);

// Keep, or give up, the bytes in RAM. `message` gets a further reference.
void piece_hold(struct piece *piece, struct message *message, const uint8_t *data);
void piece_forget_ram(struct piece *piece);

// Note that the overlay lost bytes of a piece; the caller settles the file afterwards.
void piece_dropped(struct piece *piece, uint64_t bytes);

// Answer a Twrite that is delayed, now or when the file system has it.
void piece_answer(struct request *request);
void piece_answer_when_written(struct piece *piece, struct request *request);

// Start to write a piece to flash; return whether there is room.
bool piece_journal(struct piece *piece);

// Move the oldest pieces out of RAM, if it is too full.
void ram_pump(struct cache *cache);

// -- files (files.c) --

// Return the file with delayed writes, or open for them; NULL if there is none.
struct file *file_find(const struct cache *cache, const char *export, uint64_t inode);

// Return the file, made if need be; NULL without memory, or if there are too many.
struct file *file_get(struct cache *cache, const char *export, uint64_t inode, const char *path, uint32_t user);

// Note the path at which a user has found the file, because it may have been renamed.
void file_found(struct file *file, const char *path, uint32_t user);

// Close and free a file that nothing needs any more.
void file_release(struct file *file);

// Return whether the forwarder has a file open for writing that no client has; it is being closed. If it is not, the
// file may be freed.
bool file_closes(struct file *file);

// Forget the pieces at the start of the list that are done, and call waiters. The file may be freed.
void file_settle(struct file *file);

// Note that delayed writes of a file failed, to be reported by its next fsync or close.
void file_error(struct file *file, uint32_t error, uint64_t bytes);

// Call `go` once the pieces of a file, or of all files, that exist now are done; write them at once.
// Return the waiter, which `go` must not use; NULL without memory.
struct waiter *file_wait(struct cache *cache, struct file *file, void (*go)(void *own), void *own);
void file_wait_not(struct cache *cache, struct waiter *waiter);

// Call `done` once the file system has made a file safe. An error is noted for the file. Return 0; -1 without memory,
// or without connection.
int file_sync(struct file *file, void (*done)(void *own), void *own);

// Give up a file whose place in the file system is gone. Its records stay on flash for the next start; the rest is
// lost.
void file_strand(struct file *file, const char *why);

// -- opening (opening.c) --

// Open the file for the writer, unless that is done or in progress.
void file_open(struct file *file);

// Close the file for the writer, and settle it when that is done. It may be freed.
void file_close(struct file *file);

// Let a write wait until its file is open, if that is in progress. Otherwise the first writes to a new file could not
// be delayed. Return whether it waits.
bool file_holds(struct file *file, struct request *request);

// Forget a write that waits.
void file_holds_not(struct request *request);

// Open all files of a writer whose connection is new, or note that it ended.
void files_reopen(struct writer *writer);
void files_lost(struct writer *writer);

// Return whether the writer has delayed writes.
bool files_need(const struct writer *writer);

// -- requests (cache.c) --

// Return how writes of a connection to an export are delayed.
enum write_back cache_mode(const struct session *session, const char *export);

// Return the file of a request that has delayed writes, or is open for them; NULL if there is none.
struct file *cache_file(const struct request *request);

// Give up the close of a request that ends (taking.c).
struct closing;
void closing_forget(struct closing *closing);

// -- reading (snapshot.c) --

struct snapshot;

// Note the delayed writes that a read must see, which is sent to diod now, or answered.
// Return 0, also if there are none; -1 without memory.
int snapshot_take(struct request *request, const struct file *file);

// Return whether a read needs no data of diod.
bool snapshot_is_whole(const struct request *request);

// Answer a read from its snapshot and diod's reply, which it takes over; NULL if the snapshot is whole.
void snapshot_answer(struct request *request, struct message *reply);

// Give up a snapshot whose request ends.
void snapshot_release(struct snapshot *snapshot);

// -- destaging (destage.c) --

// Write delayed data to the file system, as far as thresholds and age ask for it.
void destage_pump(struct cache *cache);

#endif
