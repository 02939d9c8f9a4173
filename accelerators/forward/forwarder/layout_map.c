// SPDX-License-Identifier: Apache-2.0
#include "layout_map.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "limits.h"

#define SLOTS (2 * MAPPED_FILES_MAX) // at most half of them are used, so that a search is short

struct mapped_file {
    uint64_t inode;
    uint64_t stripe_bytes; // 0: the slot is empty
    uint32_t first;        // place of the first stripe's server in the list
    uint32_t count;
};

struct layout_map {
    unsigned count;
    uint32_t used; // of the list
    struct mapped_file files[SLOTS];
    uint16_t servers[MAPPED_SERVERS_MAX]; // list for all files
};

// Return the slot of a file, or the empty one at which it would be.
static size_t slot_of(const struct layout_map *map, uint64_t inode)
{
    size_t slot = (size_t)((inode * 0x9E3779B97F4A7C15U) >> 32) % SLOTS;
    while (map->files[slot].stripe_bytes && map->files[slot].inode != inode) {
        slot = (slot + 1) % SLOTS;
    }
    return slot;
}

// Read a number behind blanks, and move `*text` behind it. Return false, with `*text` unchanged, if there is none up to
// `most`.
static bool next_number(const char **text, uint64_t most, uint64_t *number)
{
    const char *digits = *text + strspn(*text, " \t");
    char *end;
    errno = 0;
    *number = strtoull(digits, &end, 10);
    if (*digits < '0' || *digits > '9' || errno || *number > most || !strchr(" \t\n", *end)) {
        return false; // the end of the text may follow too, which strchr finds
    }
    *text = end;
    return true;
}

// Add a line. Return NULL, or what is wrong.
static const char *add(struct layout_map *map, const char *line, unsigned servers)
{
    struct mapped_file file = {.first = map->used};
    uint64_t server;
    if (!next_number(&line, UINT64_MAX, &file.inode) || !next_number(&line, STRIPE_BYTES_MAX, &file.stripe_bytes) ||
        file.stripe_bytes < STRIPE_BYTES_MIN) {
        return "write it as \"INODE STRIPE_BYTES SERVER ...\"";
    }
    while (next_number(&line, servers - 1, &server)) {
        if (map->used == MAPPED_SERVERS_MAX) {
            return "there are too many stripes";
        }
        map->servers[map->used++] = (uint16_t)server;
        file.count++;
    }
    if (!file.count || line[strspn(line, " \t\n")]) {
        return "servers are numbers below the option servers";
    }
    struct mapped_file *slot = &map->files[slot_of(map, file.inode)];
    if (!slot->stripe_bytes && map->count++ == MAPPED_FILES_MAX) {
        return "there are too many files";
    }
    *slot = file;
    return NULL;
}

struct layout_map *layout_map_read(const char *path, unsigned servers, char *error, size_t room)
{
    FILE *file = fopen(path, "re");
    if (!file) {
        snprintf(error, room, "%.200s cannot be read: %s", path, strerror(errno));
        return NULL;
    }
    struct layout_map *map = calloc(1, sizeof *map);
    const char *wrong = map ? NULL : "there is no memory";
    unsigned number = 0;
    char *line = NULL;
    size_t line_room = 0;
    ssize_t length;
    while (!wrong && (length = getline(&line, &line_room, file)) >= 0) {
        number++;
        if (strlen(line) != (size_t)length) {
            wrong = "it is no text";
        } else if (line[0] != '#' && line[strspn(line, " \t\n")]) {
            wrong = add(map, line, servers);
        }
    }
    if (!wrong && ferror(file)) {
        wrong = "it cannot be read";
    }
    free(line);
    fclose(file);
    if (wrong) {
        snprintf(error, room, "%.200s, line %u: %s", path, number, wrong);
        layout_map_free(map);
        return NULL;
    }
    return map;
}

void layout_map_free(struct layout_map *map)
{
    free(map);
}

bool layout_map_find(const struct layout_map *map, uint64_t file, uint64_t offset, unsigned *server)
{
    const struct mapped_file *found = &map->files[slot_of(map, file)];
    if (!found->stripe_bytes) {
        return false;
    }
    *server = map->servers[found->first + offset / found->stripe_bytes % found->count];
    return true;
}
