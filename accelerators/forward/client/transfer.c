// SPDX-License-Identifier: Apache-2.0
#include "transfer.h"

#include "clock.h"

#define FIRST_TAG 2 // the tags of pieces; session.c uses 1

struct transfer {
    struct link *link;
    const struct remote_file *file;
    const struct request *request;
    int64_t start;
    size_t bytes;
    int64_t patience_ns; // longest time to wait for any progress,
    int64_t deadline_ns; // and the time at which the whole transfer must have ended
    size_t asked;        // bytes for which requests were sent
    size_t limit;        // bytes from the beginning that may still turn out to have been moved
    int vector;          // the program's buffer in which the next piece begins,
    size_t inside;       // and the place in it
    int in_flight;
};

int transfer_gather(const struct request *request, int vector, size_t inside, size_t *bytes, struct iovec *vectors)
{
    size_t covered = 0;
    int count = 0;
    for (; vector < request->count && count < VECTORS_MAX && covered < *bytes; vector++) {
        const struct iovec *from = &request->vectors[vector];
        size_t length = from->iov_len - inside;
        length = length < *bytes - covered ? length : *bytes - covered;
        if (length) {
            vectors[count++] = (struct iovec){link_at(from->iov_base, inside), length};
        }
        covered += length;
        inside = 0;
    }
    *bytes = covered;
    return count;
}

static void advance(struct transfer *transfer, size_t bytes)
{
    transfer->asked += bytes;
    transfer->inside += bytes;
    while (transfer->vector < transfer->request->count &&
           transfer->inside >= transfer->request->vectors[transfer->vector].iov_len) {
        transfer->inside -= transfer->request->vectors[transfer->vector].iov_len;
        transfer->vector++;
    }
}

// Return the size of the next piece, which ends at the end of a page if possible.
static size_t next_size(const struct transfer *transfer)
{
    const size_t left = transfer->bytes - transfer->asked;
    const size_t into = (size_t)((transfer->start + (int64_t)transfer->asked) % PAGE_BYTES);
    size_t most = transfer->file->chunk;
    if (most >= 2 * PAGE_BYTES) {
        most = most / PAGE_BYTES * PAGE_BYTES - into;
    }
    return left < most ? left : most;
}

static int64_t next_deadline(const struct transfer *transfer)
{
    const int64_t next = clock_now_ns() + transfer->patience_ns;
    return next < transfer->deadline_ns ? next : transfer->deadline_ns;
}

static enum link_result ask(struct transfer *transfer, unsigned number)
{
    struct link *link = transfer->link;
    struct piece *piece = &link->pieces[number];
    struct message message;
    const bool writing = transfer->request->writing;
    size_t bytes = next_size(transfer);
    int count = transfer_gather(transfer->request, transfer->vector, transfer->inside, &bytes, link->vectors + 1);
    *piece = (struct piece){
        .begin = transfer->asked, .bytes = bytes, .vector = transfer->vector, .inside = transfer->inside, .busy = true};
    message_begin(&message, link->buffer, BUFFER_BYTES, writing ? TWRITE : TREAD, (uint16_t)(FIRST_TAG + number));
    message_put(&message, transfer->file->fid, 4);
    message_put(&message, (uint64_t)transfer->start + transfer->asked, 8);
    message_put(&message, bytes, 4);
    link->vectors[0] = (struct iovec){link->buffer, message_end(&message, writing ? bytes : 0)};
    count = writing ? count + 1 : 1;
    transfer->in_flight++;
    advance(transfer, bytes);
    return link_send(link, link->vectors, count, next_deadline(transfer));
}

// Receive a reply, and the data that belong to it.
static enum link_result hear(struct transfer *transfer)
{
    struct link *link = transfer->link;
    const bool writing = transfer->request->writing;
    struct iovec to = {link->buffer, MESSAGE_RREAD_BYTES};
    enum link_result result = link_receive(link, &to, 1, next_deadline(transfer));
    if (result != LINK_OK) {
        return result;
    }
    struct message reply = message_of(link->buffer, MESSAGE_RREAD_BYTES);
    const uint64_t size = message_get(&reply, 4), type = message_get(&reply, 1);
    const uint64_t number = message_get(&reply, 2) - FIRST_TAG, value = message_get(&reply, 4);
    struct piece *piece = number < WINDOW ? &link->pieces[number] : NULL;
    if (!piece || !piece->busy) {
        return LINK_ENDED;
    }
    if (type == RLERROR && size == MESSAGE_RREAD_BYTES) {
        transfer->limit = piece->begin < transfer->limit ? piece->begin : transfer->limit;
    } else if (type != (writing ? RWRITE : RREAD) || value > piece->bytes ||
               size != MESSAGE_RREAD_BYTES + (writing ? 0 : value)) {
        return LINK_ENDED;
    } else if (value < piece->bytes && piece->begin + value < transfer->limit) {
        transfer->limit = piece->begin + value;
    }
    if (type == RREAD) {
        size_t bytes = value;
        const int count = transfer_gather(transfer->request, piece->vector, piece->inside, &bytes, link->vectors);
        result = link_receive(link, link->vectors, count, next_deadline(transfer));
    }
    if (result == LINK_OK) {
        piece->busy = false;
        transfer->in_flight--;
    }
    return result;
}

// Send the next request, or receive a reply if no more requests are to be sent now.
static enum link_result step(struct transfer *transfer)
{
    const bool more = transfer->asked < transfer->bytes && transfer->limit == transfer->bytes;
    if (more && transfer->in_flight < WINDOW) {
        unsigned number = 0;
        while (transfer->link->pieces[number].busy) {
            number++;
        }
        return ask(transfer, number);
    }
    return hear(transfer);
}

size_t transfer(struct link *link, const struct remote_file *file, const struct request *request, int64_t start,
                size_t bytes, size_t moved, int64_t patience_ns, enum link_result *result)
{
    struct transfer transfer = {.link = link,
                                .file = file,
                                .request = request,
                                .start = start,
                                .bytes = bytes,
                                .patience_ns = patience_ns,
                                .deadline_ns = clock_now_ns() + patience_ns + (int64_t)bytes * BYTE_NS,
                                .limit = bytes};
    link->in_order = false;
    *result = LINK_OK;
    advance(&transfer, moved);
    while (*result == LINK_OK && (transfer.in_flight || (transfer.asked < bytes && transfer.limit == bytes))) {
        *result = step(&transfer);
    }
    if (*result == LINK_ENDED && request->writing && transfer.in_flight) {
        // The forwarder may still do the requests that it has got. A later write of the program must come after them.
        link_settle(link, next_deadline(&transfer));
    }
    for (int i = 0; i < WINDOW; i++) { // pieces without an answer
        struct piece *piece = &link->pieces[i];
        transfer.limit = piece->busy && piece->begin < transfer.limit ? piece->begin : transfer.limit;
        piece->busy = false;
    }
    link->in_order = *result == LINK_OK;
    if (*result == LINK_OK && transfer.limit < bytes) {
        *result = LINK_REFUSED;
    }
    return transfer.limit < transfer.asked ? transfer.limit : transfer.asked;
}
