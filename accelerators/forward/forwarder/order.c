// SPDX-License-Identifier: Apache-2.0
#include "order.h"

bool order_applies(uint8_t type)
{
    switch (type) {
    case TREAD:
    case TWRITE:
    case TFSYNC:
    case TCLUNK:
    case TREMOVE:
    case TSETATTR:
    case TGETATTR:
    case TLOCK:
        return true;
    default:
        return false;
    }
}

static bool is_data(const struct request *request)
{
    return request->type == TREAD || request->type == TWRITE;
}

// Return whether `later` must wait for `earlier`.
static bool must_wait(const struct request *later, const struct request *earlier)
{
    if (!is_data(earlier)) {
        return true;
    }
    if (!is_data(later)) {
        return earlier->type == TWRITE || later->type == TCLUNK || later->type == TREMOVE;
    }
    if (earlier->type == TREAD && later->type == TREAD) {
        return false;
    }
    // The client may choose an offset near 2^64, so that the sum of offset and length would overflow.
    if (earlier->offset <= later->offset) {
        return later->offset - earlier->offset < earlier->bytes;
    }
    return earlier->offset - later->offset < later->bytes;
}

void order_enter(struct request *request)
{
    struct fid *fid = request->fid;
    request->is_ordered = true;
    request->blockers = 0;
    for (const struct request *earlier = fid->first; earlier; earlier = earlier->order_next) {
        request->blockers += must_wait(request, earlier);
    }
    request->order_previous = fid->last;
    request->order_next = NULL;
    *(fid->last ? &fid->last->order_next : &fid->first) = request;
    fid->last = request;
}

struct request *order_leave(struct request *request)
{
    struct fid *fid = request->fid;
    struct request *released = NULL;
    struct request **end = &released;
    for (struct request *later = request->order_next; later; later = later->order_next) {
        if (must_wait(later, request) && --later->blockers == 0) {
            later->released = NULL;
            *end = later;
            end = &later->released;
        }
    }
    *(request->order_previous ? &request->order_previous->order_next : &fid->first) = request->order_next;
    *(request->order_next ? &request->order_next->order_previous : &fid->last) = request->order_previous;
    request->is_ordered = false;
    return released;
}
