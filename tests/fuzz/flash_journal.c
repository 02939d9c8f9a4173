// SPDX-License-Identifier: Apache-2.0
// Fuzz the journal on flash that an earlier forwarder left. The input is a list of steps: records are written and
// marked as done, then the files are altered, cut, given to other segments, and joined by records that no forwarder
// wrote. The journal is then read as at a start. Whatever was not touched must be found, and nothing else.
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "../../accelerators/forward/forwarder/journal.h"
#include "../../accelerators/forward/forwarder/journal_scan.h"
#include "../../accelerators/forward/forwarder/overlay.h"
#include "must.h"

#define WRITTEN_MAX 64
#define FOUND_MAX 256
#define DATA_BYTES 60000U // so large that a few records fill a segment
#define FLASH_BYTES (4ULL << 20)
#define STEP_BYTES 8U
#define FOREIGN_NAME "segment-7"

enum step { WRITE, FINISH, ALTER, CUT, MOVE, FOREIGN, STEPS };

struct written {
    struct record record;
    uint64_t segment; // its number
    uint64_t position;
    bool is_done;
    bool is_touched;
    bool is_found;
};

struct piece {
    uint64_t dropped;
    uint64_t length;
};

static struct state {
    char directory[64];
    struct written written[WRITTEN_MAX];
    unsigned count;
    bool is_forged;  // there may be records with right checksums that no forwarder wrote,
    bool is_misled;  // and there are; they may cover others
    bool is_damaged; // marks or whole segments were changed
    struct piece pieces[FOUND_MAX];
    struct overlay overlay;
    unsigned found;
} state;

static uint8_t data_of_records[DATA_BYTES]; // without zeros, which a file that was cut and extended has

static uint64_t number(const uint8_t *step, unsigned bytes)
{
    uint64_t value = 0;
    memcpy(&value, step, bytes);
    return value;
}

// Return a record whose fields come from a step.
static struct record record_of(const uint8_t *step, uint64_t sequence)
{
    return (struct record){.sequence = sequence,
                           .inode = step[1] % 4U,
                           .offset = number(step + 2, 2),
                           .length = (uint32_t)number(step + 4, 2) % DATA_BYTES + 1,
                           .user = step[6],
                           .export_bytes = step[7] % 8U,
                           .path_bytes = step[7] / 8U};
}

static void add(struct journal *journal, const uint8_t *step)
{
    static const char names[] = "/export/path/of/a/file/that/is/long";
    struct written *written = &state.written[state.count];
    const struct record record = record_of(step, state.count + 1);
    *written = (struct written){.record = record};
    const struct segment *segment =
        state.count < WRITTEN_MAX ? journal_reserve(journal, &record, &written->position) : NULL;
    if (segment) {
        written->segment = segment->number;
        MUST(!journal_write(segment, written->position, &record, names, names, data_of_records));
        state.count++;
    }
}

static void finish(struct journal *journal, const uint8_t *step)
{
    struct written *written = state.count ? &state.written[step[1] % state.count] : NULL;
    struct segment *segment = journal->segments;
    while (segment && written && segment->number != written->segment) {
        segment = segment->next;
    }
    if (segment && written && !written->is_done) {
        const struct record *record = &written->record;
        written->is_done = true;
        journal_done(journal, segment, record->sequence, written->position + record_bytes(record) - record->length);
    }
}

// Open a file of the segment with the number in a step, or of its marks. Return its descriptor; -1 if there is none.
static int open_file(const uint8_t *step, bool is_done)
{
    char path[128], name[SEGMENT_NAME_BYTES];
    segment_name(name, step[1] % 4U, is_done);
    snprintf(path, sizeof path, "%s/%s", state.directory, name);
    return open(path, O_RDWR | O_CLOEXEC);
}

// Note that bytes of a segment have changed, from `from` up to, but not including, `to`.
static void touch(uint64_t segment, uint64_t from, uint64_t to)
{
    for (unsigned i = 0; i < state.count; i++) {
        struct written *written = &state.written[i];
        const uint64_t end = written->position + record_bytes(&written->record);
        const bool is_within = written->position < to && from < end;
        written->is_touched |= written->segment == segment && (is_within || from < SEGMENT_HEADER_BYTES);
    }
}

static void alter(const uint8_t *step)
{
    const bool is_done = step[1] & 128U;
    const int fd = open_file(step, is_done);
    const uint64_t position = number(step + 2, 3) % (1U << 20);
    if (fd >= 0) {
        MUST(pwrite(fd, step + 5, 3, (off_t)position) == 3);
        close(fd);
        state.is_damaged |= is_done;
        state.is_forged = true; // the fuzzer may find a checksum
        touch(step[1] % 4U, position, position + 3);
    }
}

static void cut(const uint8_t *step)
{
    const bool is_done = step[1] & 128U;
    const int fd = open_file(step, is_done);
    const uint64_t size = number(step + 2, 3) % FLASH_BYTES;
    if (fd >= 0) {
        MUST(!ftruncate(fd, (off_t)size));
        close(fd);
        state.is_damaged |= is_done;
        touch(step[1] % 4U, size, UINT64_MAX);
    }
}

// Rename a file, so that marks belong to another segment, a segment replaces another one, or its name is no
// forwarder's.
static void move(const uint8_t *step)
{
    char from[128], to[128], name[SEGMENT_NAME_BYTES];
    segment_name(name, step[1] % 4U, step[3] & 1U);
    snprintf(from, sizeof from, "%s/%s", state.directory, name);
    segment_name(name, step[2] % 8U, step[3] & 2U);
    snprintf(to, sizeof to, "%s/%s", state.directory, step[3] & 4U ? FOREIGN_NAME : name);
    state.is_damaged |= !rename(from, to);
}

// Write a record with extreme fields and a right checksum into a segment.
static void forge(const uint8_t *step)
{
    static const uint64_t extremes[] = {0,         3U << 20,       INT64_MAX,  UINT64_MAX,
                                        MSIZE_MAX, PATH_BYTES_MAX, UINT16_MAX, 1U << 20};
    uint8_t whole[RECORD_HEADER_BYTES + 64] = {0}, header[RECORD_HEADER_BYTES], nonce[NONCE_BYTES];
    const int fd = open_file(step, false);
    const uint64_t position = (1 + step[2] % 64U) * RECORD_ALIGN;
    const struct record record = {.sequence = extremes[step[3] % 8U],
                                  .inode = step[3] / 8U % 4U,
                                  .offset = extremes[step[4] % 8U] - step[4] / 8U,
                                  .length = (uint32_t)(step[5] & 1U ? extremes[step[5] / 2U % 8U] : step[5] / 2U % 16U),
                                  .export_bytes = step[6] & 128U ? UINT16_MAX : step[6] % 16U,
                                  .path_bytes = step[7] & 128U ? PATH_BYTES_MAX - 1 : step[7] % 16U};
    if (fd < 0) {
        return;
    }
    if (pread(fd, header, sizeof header, 0) == sizeof header && segment_decode(header, nonce) &&
        record_bytes(&record) <= sizeof whole) {
        const char *export = (const char *)whole + RECORD_HEADER_BYTES;
        record_encode(whole, &record, nonce, export, export, (const uint8_t *)export);
    } else { // it is not intact, but its lengths are read
        record_encode(whole, &(struct record){.length = 0}, nonce, "", "", whole);
        memcpy(whole + 32, &record.length, sizeof record.length);
        memcpy(whole + 40, &record.export_bytes, sizeof record.export_bytes);
        memcpy(whole + 42, &record.path_bytes, sizeof record.path_bytes);
    }
    MUST(pwrite(fd, whole, sizeof whole, (off_t)position) == sizeof whole);
    close(fd);
    state.is_forged = true;
    touch(step[1] % 4U, position, position + sizeof whole);
}

static bool is_same(const struct record *one, const struct record *other)
{
    return one->sequence == other->sequence && one->inode == other->inode && one->offset == other->offset &&
           one->length == other->length && one->user == other->user && one->export_bytes == other->export_bytes &&
           one->path_bytes == other->path_bytes;
}

static void on_dropped(struct piece *piece, uint64_t bytes)
{
    piece->dropped += bytes;
    MUST(piece->dropped <= piece->length);
}

static void on_found(void *own, const struct record *record, struct segment *segment, uint64_t position,
                     const char *export, const char *path)
{
    (void)own;
    MUST(record->length > 0 && record->length <= MSIZE_MAX && record->path_bytes < PATH_BYTES_MAX);
    MUST(record->offset <= (uint64_t)INT64_MAX - record->length && path == export + record->export_bytes);
    free(strndup(export, record->export_bytes)); // as a replay does
    free(strndup(path, record->path_bytes));
    bool is_known = false;
    for (unsigned i = 0; i < state.count; i++) {
        struct written *written = &state.written[i];
        if (written->segment == segment->number && written->position == position && !written->is_touched) {
            is_known = true;
            written->is_found = true;
            MUST((is_same(&written->record, record) && !written->is_done) || state.is_damaged);
        }
    }
    MUST(is_known || state.is_forged || state.is_damaged);
    state.is_misled |= !is_known;
    if (state.found < FOUND_MAX) {
        struct piece *piece = &state.pieces[state.found++];
        *piece = (struct piece){.length = record->length};
        const struct extent extent = {record->offset, record->offset + record->length, piece};
        MUST(!overlay_put(&state.overlay, extent, on_dropped));
    }
}

static void check_overlay(void)
{
    struct extent extents[2 * FOUND_MAX + 1];
    const size_t room = sizeof extents / sizeof *extents;
    const size_t count = overlay_find(&state.overlay, 0, 1ULL << 63, extents, room);
    uint64_t before = 0, left = 0;
    MUST(count < room);
    for (size_t i = 0; i < count; i++) {
        MUST(extents[i].from >= before && extents[i].to > extents[i].from);
        before = extents[i].to;
        left += extents[i].to - extents[i].from;
    }
    for (unsigned i = 0; i < state.found; i++) {
        left -= state.pieces[i].length - state.pieces[i].dropped;
    }
    MUST(left == 0);
}

// Remove the directory's files; the segments have few numbers.
static void clear(void)
{
    static const char *const others[] = {"lock", FOREIGN_NAME};
    char path[128], name[SEGMENT_NAME_BYTES];
    for (unsigned i = 0; i < 64; i++) {
        segment_name(name, i / 2, i % 2);
        snprintf(path, sizeof path, "%s/%s", state.directory, name);
        unlink(path);
    }
    for (unsigned i = 0; i < sizeof others / sizeof *others; i++) {
        snprintf(path, sizeof path, "%s/%s", state.directory, others[i]);
        unlink(path);
    }
}

static void remove_directory(void)
{
    rmdir(state.directory);
}

static void open_journal(struct journal *journal)
{
    char error[300];
    const int failed = journal_open(journal, state.directory, FLASH_BYTES, false, on_found, NULL, error, sizeof error);
    MUST(!failed);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct journal journal;
    bool is_open = true;
    if (!state.directory[0]) {
        memset(data_of_records, 'x', sizeof data_of_records);
        const char *place = getenv("TMPDIR");
        place = place ? place : access("/dev/shm", W_OK) ? "/tmp" : "/dev/shm";
        snprintf(state.directory, sizeof state.directory, "%s/reprise-fuzz-XXXXXX", place);
        MUST(mkdtemp(state.directory) && !atexit(remove_directory));
    }
    clear();
    open_journal(&journal);
    for (; size >= STEP_BYTES; data += STEP_BYTES, size -= STEP_BYTES) {
        const enum step step = (enum step)(data[0] % STEPS);
        if (step > FINISH && is_open) { // the forwarder is killed
            journal_close(&journal);
            is_open = false;
        }
        if (is_open) {
            (step == WRITE ? add : finish)(&journal, data);
        } else if (step > FINISH) {
            (step == ALTER ? alter : step == CUT ? cut : step == MOVE ? move : forge)(data);
        }
    }
    if (is_open) {
        journal_close(&journal);
    }
    open_journal(&journal);
    for (unsigned i = 0; i < state.count; i++) {
        const struct written *written = &state.written[i];
        MUST(written->is_found || written->is_done || written->is_touched || state.is_misled || state.is_damaged);
    }
    check_overlay();
    const struct record more = {.sequence = 1, .length = 1};
    uint64_t position = 0;
    struct segment *segment = journal_reserve(&journal, &more, &position); // the journal can be used
    MUST(!segment || !journal_write(segment, position, &more, "", "", data_of_records));
    journal_close(&journal);
    overlay_clear(&state.overlay);
    clear();
    MUST(!rmdir(state.directory) && !mkdir(state.directory, 0700)); // nothing else is left
    char directory[sizeof state.directory];
    memcpy(directory, state.directory, sizeof directory);
    state = (struct state){.count = 0};
    memcpy(state.directory, directory, sizeof directory);
    return 0;
}
