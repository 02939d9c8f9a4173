// SPDX-License-Identifier: Apache-2.0
#include "overlay.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#define BLOCK_SHIFT 20 // blocks of 1 MiB have at most some hundred extents if writes are of 4 KiB

struct overlay_block {
    uint64_t number; // first byte, divided by the size of a block
    size_t count;
    size_t room;
    struct extent *extents; // in order, without overlaps
};

// Return the position of the first block with at least this number.
static size_t block_position(const struct overlay *overlay, uint64_t number)
{
    size_t low = 0;
    size_t high = overlay->count;
    while (low < high) {
        const size_t middle = low + (high - low) / 2;
        if (overlay->blocks[middle]->number < number) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    return low;
}

// Return the position of the first extent that ends behind `from`.
static size_t extent_position(const struct overlay_block *block, uint64_t from)
{
    size_t low = 0;
    size_t high = block->count;
    while (low < high) {
        const size_t middle = low + (high - low) / 2;
        if (block->extents[middle].to <= from) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    return low;
}

static int reserve(struct overlay_block *block, size_t more)
{
    if (block->count + more <= block->room) {
        return 0;
    }
    const size_t room = block->room * 2 + more;
    struct extent *extents = realloc(block->extents, room * sizeof *extents);
    if (!extents) {
        return -1;
    }
    block->extents = extents;
    block->room = room;
    return 0;
}

// Return the block with this number, made if need be; NULL without memory.
static struct overlay_block *block_get(struct overlay *overlay, uint64_t number)
{
    const size_t at = block_position(overlay, number);
    if (at < overlay->count && overlay->blocks[at]->number == number) {
        return overlay->blocks[at];
    }
    if (overlay->count == overlay->room) {
        const size_t room = overlay->room * 2 + 16;
        struct overlay_block **blocks = realloc(overlay->blocks, room * sizeof *blocks);
        if (!blocks) {
            return NULL;
        }
        overlay->blocks = blocks;
        overlay->room = room;
    }
    struct overlay_block *block = calloc(1, sizeof *block);
    if (block) {
        block->number = number;
        memmove(overlay->blocks + at + 1, overlay->blocks + at, (overlay->count - at) * sizeof *overlay->blocks);
        overlay->blocks[at] = block;
        overlay->count++;
    }
    return block;
}

static void insert(struct overlay_block *block, size_t at, struct extent extent)
{
    memmove(block->extents + at + 1, block->extents + at, (block->count - at) * sizeof *block->extents);
    block->extents[at] = extent;
    block->count++;
}

// Remove the bytes of a range from the block's extents, or only those of one piece. Needs room for one more extent.
static void cut(struct overlay_block *block, uint64_t from, uint64_t to, const struct piece *only,
                overlay_dropped *dropped)
{
    size_t at = extent_position(block, from);
    while (at < block->count && block->extents[at].from < to) {
        struct extent *extent = &block->extents[at];
        if (only && extent->piece != only) {
            at++;
            continue;
        }
        struct piece *const piece = extent->piece;
        const uint64_t first = extent->from > from ? extent->from : from;
        const uint64_t last = extent->to < to ? extent->to : to;
        const struct extent rest = {.from = last, .to = extent->to, .piece = piece};
        if (extent->from < first) {
            extent->to = first;
            at++;
            if (rest.from < rest.to) {
                insert(block, at, rest);
            }
        } else if (rest.from < rest.to) {
            extent->from = last;
        } else {
            block->count--;
            memmove(extent, extent + 1, (block->count - at) * sizeof *extent);
        }
        dropped(piece, last - first);
    }
}

static struct extent part_in_block(struct extent extent, uint64_t number)
{
    const uint64_t start = number << BLOCK_SHIFT;
    const uint64_t end = (number + 1) << BLOCK_SHIFT;
    return (struct extent){.from = extent.from > start ? extent.from : start,
                           .to = extent.to < end ? extent.to : end,
                           .piece = extent.piece};
}

int overlay_put(struct overlay *overlay, struct extent extent, overlay_dropped *dropped)
{
    const uint64_t last = (extent.to - 1) >> BLOCK_SHIFT;
    for (uint64_t number = extent.from >> BLOCK_SHIFT; number <= last; number++) {
        struct overlay_block *block = block_get(overlay, number);
        if (!block || reserve(block, 2)) {
            return -1;
        }
    }
    if (extent.to > overlay->end) {
        overlay->end = extent.to;
    }
    for (uint64_t number = extent.from >> BLOCK_SHIFT; number <= last; number++) {
        struct overlay_block *block = block_get(overlay, number);
        const struct extent part = part_in_block(extent, number);
        cut(block, part.from, part.to, NULL, dropped);
        insert(block, extent_position(block, part.from), part);
    }
    return 0;
}

static void remove_block(struct overlay *overlay, size_t at)
{
    free(overlay->blocks[at]->extents);
    free(overlay->blocks[at]);
    overlay->count--;
    memmove(overlay->blocks + at, overlay->blocks + at + 1, (overlay->count - at) * sizeof *overlay->blocks);
}

int overlay_drop(struct overlay *overlay, struct extent extent, overlay_dropped *dropped)
{
    int result = 0;
    size_t at = block_position(overlay, extent.from >> BLOCK_SHIFT);
    while (at < overlay->count && overlay->blocks[at]->number <= (extent.to - 1) >> BLOCK_SHIFT) {
        struct overlay_block *block = overlay->blocks[at];
        if (reserve(block, 1)) {
            result = -1;
        } else {
            cut(block, extent.from, extent.to, extent.piece, dropped);
        }
        if (block->count == 0) {
            remove_block(overlay, at);
        } else {
            at++;
        }
    }
    if (overlay->count == 0) {
        overlay->end = 0;
    }
    return result;
}

size_t overlay_find(const struct overlay *overlay, uint64_t from, uint64_t to, struct extent *found, size_t room)
{
    size_t count = 0;
    for (size_t i = block_position(overlay, from >> BLOCK_SHIFT); i < overlay->count; i++) {
        const struct overlay_block *block = overlay->blocks[i];
        if (block->number << BLOCK_SHIFT >= to) {
            break;
        }
        for (size_t k = extent_position(block, from); k < block->count && block->extents[k].from < to; k++) {
            if (count < room) {
                found[count] = block->extents[k];
                found[count].from = found[count].from > from ? found[count].from : from;
                found[count].to = found[count].to < to ? found[count].to : to;
            }
            count++;
        }
    }
    return count;
}

void overlay_clear(struct overlay *overlay)
{
    while (overlay->count) {
        remove_block(overlay, overlay->count - 1);
    }
    free(overlay->blocks);
    *overlay = (struct overlay){0};
}
