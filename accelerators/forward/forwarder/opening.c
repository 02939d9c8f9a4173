// SPDX-License-Identifier: Apache-2.0
// Opens a file for the forwarder's own connection, by its path, and makes sure that it is still the same file.
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "log.h"
#include "request.h"
#include "store.h"
#include "writer.h"

static void walked(void *own, struct message *reply);
static void examined(void *own, struct message *reply);
static void opened(void *own, struct message *reply);
static void on_held_too_long(evutil_socket_t fd, short what, void *own);
static void closed(void *own, struct message *reply);

struct opening {
    struct file *file;
    const char *rest; // of the path
    uint16_t names;   // in the Twalk that is under way
};

static void stop_holding(struct file *file)
{
    if (file->holding) {
        event_free(file->holding);
        file->holding = NULL;
    }
}

bool file_holds(struct file *file, struct request *request)
{
    const struct timeval wait = {.tv_usec = HELD_MS * 1000L};
    const bool is_opening = file->state == FILE_OPENING || file->state == FILE_CLOSING ||
                            (file->state == FILE_CLOSED && file->writer && file->writer->state == WRITER_CONNECTS);
    if (request->was_held || !is_opening) {
        return false;
    }
    if (!file->holding) {
        file->holding = evtimer_new(file->cache->forwarder->base, on_held_too_long, file);
        if (!file->holding || event_add(file->holding, &wait)) {
            stop_holding(file);
            return false;
        }
    }
    request->was_held = true;
    request->held_by = file;
    request->state = REQUEST_HELD;
    struct request **place = &file->held;
    while (*place) {
        place = &(*place)->held_next;
    }
    *place = request;
    return true;
}

void file_holds_not(struct request *request)
{
    struct file *file = request->held_by;
    struct request **place = &file->held;
    while (*place != request) {
        place = &(*place)->held_next;
    }
    *place = request->held_next;
    request->held_by = NULL;
    request->held_next = NULL;
    if (!file->held) { // the timer must not outlive the file
        stop_holding(file);
    }
}

// Let the writes that wait continue. The file is not freed.
static void let_go(struct file *file)
{
    file->busy++;
    for (struct request *request; (request = file->held);) {
        file_holds_not(request);
        if (request->session->ending) {
            request_end(request, NULL);
        } else {
            request_proceed(request);
        }
    }
    file->busy--;
}

static void on_held_too_long(evutil_socket_t fd, short what, void *own)
{
    (void)fd;
    (void)what;
    let_go(own);
}

static bool is_final(uint32_t error)
{
    switch (error) {
    case ENOENT:
    case ENOTDIR:
    case EISDIR:
    case ELOOP:
    case EACCES:
    case EPERM:
    case EROFS:
    case ESTALE:
    case ENAMETOOLONG:
        return true;
    default:
        return false;
    }
}

// End without success: 0 means that the connection ended.
static void fail(struct opening *opening, uint32_t error)
{
    struct file *file = opening->file;
    free(opening);
    if (error) {
        writer_clunk(file->writer, file->fid, NULL, NULL);
    }
    if (!file->first) {
        file->state = error ? FILE_REFUSED : FILE_CLOSED;
        let_go(file);
        file_settle(file);
    } else if (is_final(error)) {
        file_strand(file, error == ESTALE ? "another file has its name now" : strerror((int)error));
    } else {
        file->state = FILE_CLOSED;
        writer_retry(file->writer);
    }
}

// Return whether a reply is of the expected type and size. If it is not, end the opening and release the reply.
static bool is_good(struct opening *opening, struct message *reply, uint8_t type, uint32_t least)
{
    if (reply && reply->bytes[4] == type && reply->length >= least) {
        return true;
    }
    const bool is_error = reply && reply->bytes[4] == RLERROR && reply->length >= 11;
    const uint32_t error = !reply ? 0 : is_error ? wire_get32(reply->bytes + 7) : EIO;
    message_release(reply);
    fail(opening, error);
    return false;
}

static void walk(struct opening *opening, uint32_t from)
{
    struct file *file = opening->file;
    const char *names[WALK_NAMES_MAX];
    size_t lengths[WALK_NAMES_MAX];
    uint32_t bytes = 17;
    opening->names = 0;
    while (*opening->rest && opening->names < WALK_NAMES_MAX) {
        const size_t length = strcspn(opening->rest, "/");
        names[opening->names] = opening->rest;
        lengths[opening->names++] = length;
        bytes += 2 + (uint32_t)length;
        opening->rest += length;
        opening->rest += *opening->rest == '/';
    }
    struct message *request = writer_request(TWALK, bytes, from);
    if (!request) {
        fail(opening, ENOMEM);
        return;
    }
    wire_put32(request->bytes + 11, file->fid);
    wire_put16(request->bytes + 15, opening->names);
    uint8_t *end = request->bytes + 17;
    for (uint16_t i = 0; i < opening->names; i++) {
        wire_put16(end, (uint16_t)lengths[i]);
        memcpy(end + 2, names[i], lengths[i]);
        end += 2 + lengths[i];
    }
    writer_call(file->writer, request, NULL, 0, walked, opening);
}

static void walked(void *own, struct message *reply)
{
    struct opening *opening = own;
    struct file *file = opening->file;
    if (!is_good(opening, reply, TWALK + 1, 9)) {
        return;
    }
    const uint16_t found = wire_get16(reply->bytes + 7);
    message_release(reply);
    if (found < opening->names) {
        fail(opening, ENOENT);
        return;
    }
    if (*opening->rest) {
        walk(opening, file->fid);
        return;
    }
    struct message *request = writer_request(TGETATTR, 19, file->fid);
    if (!request) {
        fail(opening, ENOMEM);
        return;
    }
    wire_put64(request->bytes + 11, 0x7FF); // all basic attributes
    writer_call(file->writer, request, NULL, 0, examined, opening);
}

static void examined(void *own, struct message *reply)
{
    struct opening *opening = own;
    struct file *file = opening->file;
    if (!is_good(opening, reply, TGETATTR + 1, GETATTR_REPLY_BYTES)) {
        return;
    }
    const bool is_regular = S_ISREG(wire_get32(reply->bytes + GETATTR_MODE));
    const bool is_same = wire_get64(reply->bytes + GETATTR_QID + 5) == file->inode;
    message_release(reply);
    struct message *request = is_regular && is_same ? writer_request(TLOPEN, 15, file->fid) : NULL;
    if (!request) {
        fail(opening, is_regular && is_same ? ENOMEM : ESTALE);
        return;
    }
    wire_put32(request->bytes + 11, 1); // O_WRONLY
    writer_call(file->writer, request, NULL, 0, opened, opening);
}

static void opened(void *own, struct message *reply)
{
    struct opening *opening = own;
    struct file *file = opening->file;
    if (!is_good(opening, reply, TLOPEN + 1, HEADER_BYTES + QID_BYTES)) {
        return;
    }
    message_release(reply);
    free(opening);
    struct cache *cache = file->cache;
    file->state = FILE_OPEN;
    let_go(file);
    file_settle(file);
    destage_pump(cache);
}

static void closed(void *own, struct message *reply)
{
    struct file *file = own;
    message_release(reply);
    file->state = FILE_CLOSED;
    file->busy++;
    if (file->openings || file->first || file->held) { // a client has opened it meanwhile
        file_open(file);
    }
    if (file->state == FILE_CLOSED) {
        let_go(file);
    }
    file->busy--;
    file_settle(file);
}

void file_close(struct file *file)
{
    file->state = FILE_CLOSING;
    writer_clunk(file->writer, file->fid, closed, file);
}

void file_open(struct file *file)
{
    if (file->state != FILE_CLOSED && file->state != FILE_REFUSED) {
        return;
    }
    struct opening *opening = file->writer->state == WRITER_READY ? calloc(1, sizeof *opening) : NULL;
    if (!opening) {
        file->state = FILE_CLOSED;
        return;
    }
    *opening = (struct opening){.file = file, .rest = file->path};
    file->state = FILE_OPENING;
    file->fid = file->writer->next_fid++;
    walk(opening, WRITER_ROOT);
}

void files_reopen(struct writer *writer)
{
    struct cache *cache = writer->cache;
    for (size_t i = 0; i < FILE_BUCKETS; i++) {
        for (struct file *file = cache->files[i], *next; file; file = next) {
            next = file->next;
            if (file->writer == writer && file->state == FILE_CLOSED) {
                file_open(file);
            }
        }
    }
}

void files_lost(struct writer *writer)
{
    for (size_t i = 0; i < FILE_BUCKETS; i++) {
        for (struct file *file = writer->cache->files[i]; file; file = file->next) {
            if (file->writer == writer && file->state == FILE_OPEN) {
                file->state = FILE_CLOSED;
            }
        }
    }
}

bool files_need(const struct writer *writer)
{
    for (const struct file *file = writer->cache->dirty_first; file; file = file->dirty_next) {
        if (file->writer == writer) {
            return true;
        }
    }
    return false;
}
