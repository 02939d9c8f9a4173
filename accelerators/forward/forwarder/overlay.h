// SPDX-License-Identifier: Apache-2.0
// Delayed writes that lie over the bytes of a file. The newest write of a byte hides older ones.
#ifndef FORWARDER_OVERLAY_H
#define FORWARDER_OVERLAY_H

#include <stddef.h>
#include <stdint.h>

struct piece; // a delayed write; only its address matters here

// Bytes from `from` up to, but not including, `to`, which a piece provides.
struct extent {
    uint64_t from;
    uint64_t to;
    struct piece *piece;
};

// Extents are kept in blocks of the file, so that a change moves only the extents of one block.
struct overlay {
    struct overlay_block **blocks; // by position
    size_t count;
    size_t room;
    uint64_t end; // highest end of an extent since the overlay was last empty
};

// Called when `bytes` of a piece are no longer part of the overlay.
typedef void overlay_dropped(struct piece *piece, uint64_t bytes);

// Lay an extent over the others. Return 0; -1 without memory, with the overlay unchanged. `to` is at most 2^63.
int overlay_put(struct overlay *overlay, struct extent extent, overlay_dropped *dropped);

// Remove those bytes of an extent that its piece still provides. Return 0; -1 without memory, with some not removed.
int overlay_drop(struct overlay *overlay, struct extent extent, overlay_dropped *dropped);

// Store up to `room` extents that overlap a range, in order and cut to the range. Return the number of all of them.
size_t overlay_find(const struct overlay *overlay, uint64_t from, uint64_t to, struct extent *found, size_t room);

// Free the memory; extents are forgotten without a call.
void overlay_clear(struct overlay *overlay);

#endif
