// SPDX-License-Identifier: Apache-2.0
#define _GNU_SOURCE
#include "finish.h"

#include "link.h"
#include "raw.h"

int64_t finish(const struct request *request, int64_t start, size_t done, size_t bytes)
{
    struct iovec vectors[8];
    struct request rest = *request;
    size_t skip = done;
    long moved = 1;
    while (rest.count && skip >= rest.vectors->iov_len) {
        skip -= rest.vectors->iov_len;
        rest.vectors++;
        rest.count--;
    }
    while (done < bytes && moved > 0) {
        int count = 0;
        size_t left = bytes - done;
        for (size_t inside = skip; count < rest.count && count < 8 && left; count++, inside = 0) {
            const size_t length = rest.vectors[count].iov_len - inside;
            vectors[count] =
                (struct iovec){link_at(rest.vectors[count].iov_base, inside), length < left ? length : left};
            left -= vectors[count].iov_len;
        }
        moved = raw_call(request->writing ? SYS_pwritev : SYS_preadv, request->fd, (long)vectors, count,
                         start + (int64_t)done, 0, 0);
        done += moved > 0 ? (size_t)moved : 0;
        for (skip += moved > 0 ? (size_t)moved : 0; rest.count && skip >= rest.vectors->iov_len; rest.count--) {
            skip -= rest.vectors->iov_len;
            rest.vectors++;
        }
    }
    return done || moved > 0 ? (int64_t)done : moved;
}
