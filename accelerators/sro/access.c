// SPDX-License-Identifier: Apache-2.0
// read() does not report its position, and asking the kernel for it takes a third of the time of a read from the cache.
// Therefore the position is tracked from read to read and through lseek(), and the kernel is asked only after a slow
// read. While the tracked position is wrong (because the program writes, or reads through a duplicate of the
// descriptor), accesses are counted in the wrong bins (window.h).
#define _GNU_SOURCE
#include "access.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "clock.h"
#include "files.h"
#include "raw.h"
#include "state.h"

#define LOAD(what) atomic_load_explicit(&(what), memory_order_relaxed)
#define STORE(what, value) atomic_store_explicit(&(what), (value), memory_order_relaxed)

static bool is_current(const struct file *file, uint32_t watched)
{
    return LOAD(file->generation) == watched >> PLACE_BITS;
}

// Return whether the access must be timed. An access is always timed if its piece is absent (not loaded), if its
// position is unknown or if the descriptor dozes (see DOZE_AFTER). One in SAMPLE_CALLS of the other accesses is timed.
static bool is_timed(const struct access *access, const struct file *file)
{
    return access->dozing || access->offset < 0 || LOAD(access->descriptor->calls) % SAMPLE_CALLS == 0 ||
           piece_state(file->pieces, (uint64_t)(access->offset / state_settings()->piece_bytes)) == PIECE_ABSENT;
}

void access_begin(struct access *access, int fd, int64_t offset)
{
    struct state *state = state_get();
    struct descriptor *descriptor = &state->descriptors[fd];
    uint32_t watched = LOAD(descriptor->watched);
    if (watched <= WATCHED_NEVER || LOAD(descriptor->calls) % RECHECK_CALLS == 0 ||
        !is_current(state_file(state, watched), watched)) {
        watched = files_look_up(state, fd);
    }
    *access = (struct access){.fd = fd, .watched = watched, .offset = offset, .current = offset == OFFSET_CURRENT};
    if (watched <= WATCHED_NEVER) {
        return;
    }
    access->descriptor = descriptor;
    const uint32_t mask = LOAD(descriptor->passed_over);
    access->dozing = mask & 1;
    if (access->current && !access->dozing && !(mask && LOAD(descriptor->calls) % BURST_READS == 0)) {
        access->offset = LOAD(descriptor->position);
    }
    // An access that begins where the previous one ended is not timed, because the kernel's read-ahead covers it.
    if (access->offset != LOAD(descriptor->end) && is_timed(access, state_file(state, watched))) {
        access->begun_ns = clock_now_ns();
    }
}

// Return the number of bytes in a stream's buffer that the program has not read yet.
static int64_t buffered(const FILE *stream)
{
    const int64_t bytes = stream->_IO_read_end - stream->_IO_read_ptr;
    return bytes < 0 ? 0 : bytes;
}

// libc records a stream's position only after the program has set it. Streams without a recorded position are read in
// order from their beginning, and are not timed.
bool access_is_due_fread(const FILE *stream, size_t size, size_t count)
{
    size_t bytes = 0;
    return stream->_offset >= 0 && !__builtin_mul_overflow(size, count, &bytes) && (uint64_t)buffered(stream) < bytes &&
           access_is_due(stream->_fileno);
}

void access_end_fread(struct access *access, const FILE *stream)
{
    // Count only the bytes that libc has just read from the file, without the bytes that were already in the buffer.
    access_end(access, stream->_offset - access->offset);
}

void access_begin_fseek(struct access *access, const FILE *stream)
{
    access_begin(access, stream->_fileno, 0);
    access->offset = -1;
    access->begun_ns = access->descriptor ? clock_now_ns() : 0;
}

void access_end_fseek(struct access *access, const FILE *stream, int64_t before)
{
    const int64_t bytes = buffered(stream);
    if (stream->_offset != before && stream->_offset >= bytes) {
        access->offset = stream->_offset - bytes;
        access_end(access, bytes);
    }
}

void access_moved(int fd, int64_t position)
{
    struct state *state = state_get();
    if (state && position >= 0 && (unsigned)fd < DESCRIPTORS_MAX &&
        LOAD(state->descriptors[fd].watched) > WATCHED_NEVER) {
        STORE(state->descriptors[fd].position, position);
    }
}

// Load the zone that begins with the piece at the access's offset. The file's lock is held.
static void load_zone(struct state *state, struct file *file, const struct access *access)
{
    const struct settings *settings = state_settings();
    const int64_t piece = settings->piece_bytes;
    struct stat status;
    struct job job = {.fd = access->fd, .watched = access->watched, .dev = file->dev, .ino = file->ino};
    int flags = fcntl(access->fd, F_GETFL);
    if (flags < 0 || (flags & O_DIRECT) || raw_fstat(access->fd, &status) || status.st_dev != file->dev ||
        status.st_ino != file->ino || access->offset >= status.st_size) {
        return;
    }
    const int64_t begin = access->offset / piece * piece;
    const int64_t wanted = settings->zone_bytes > piece ? settings->zone_bytes : piece;
    int64_t end = wanted < status.st_size - begin ? begin + wanted : status.st_size;
    const int64_t least = piece < end - begin ? piece : end - begin;
    const int64_t granted = ledger_plan(&state->ledger, end - begin, least, clock_now_ns());
    if (!granted) {
        file->counters.held_back++;
        return;
    }
    end = begin + granted;
    job.first = (uint64_t)(begin / piece);
    job.last = (uint64_t)(end / piece) + (end == status.st_size && end % piece != 0);
    job.last = job.last > job.first + CLAIM_MAX ? job.first + CLAIM_MAX : job.last;
    const uint64_t all = job.last;
    if (!pieces_claim(file->pieces, &job.first, &job.last)) {
        ledger_cancel(&state->ledger, end - begin);
        return;
    }
    job.begin = (int64_t)job.first * piece;
    job.end = job.last == all ? end : (int64_t)job.last * piece;
    ledger_cancel(&state->ledger, end - begin - (job.end - job.begin)); // do not count pieces that are already loaded
    atomic_fetch_add(&file->jobs, 1);
    if (pool_submit(state, &job)) {
        file->counters.zones++;
        file->counters.bytes += (uint64_t)(job.end - job.begin);
        return;
    }
    atomic_fetch_sub(&file->jobs, 1);
    ledger_cancel(&state->ledger, job.end - job.begin);
    pieces_give_up(file->pieces, job.first, job.last);
    file->counters.dropped++;
}

// Add an access to the window, and update the counters and the ledger. Load a zone if the access was slow, its piece is
// absent, its bin is hot (has enough accesses in the window), and another recent access to an absent piece was slow.
// The file's lock is held.
static void remember(struct state *state, struct file *file, const struct access *access, int64_t elapsed_ns, bool slow)
{
    const struct settings *settings = state_settings();
    const uint64_t number = (uint64_t)(access->offset / settings->piece_bytes);
    const uint64_t count = window_add(&file->window, (uint64_t)(access->offset / settings->bin_bytes));
    enum piece_state piece = piece_state(file->pieces, number);
    bool helps = false;
    file->counters.accesses++;
    if (piece == PIECE_LOADED && slow) {
        // The piece has been evicted. Only one in SAMPLE_CALLS accesses is timed, so about SAMPLE_CALLS reads have been
        // counted as savings by mistake.
        piece_forget(file->pieces, number);
        ledger_lose(&state->ledger, SAMPLE_CALLS * file->miss_ns);
        file->counters.evicted++;
        piece = PIECE_ABSENT;
    }
    if (piece == PIECE_LOADED) {
        const int64_t into = access->offset % settings->piece_bytes;
        if (piece_touch(file->pieces, number, (unsigned)(into / settings->part_bytes))) {
            ledger_hit(&state->ledger, file->miss_ns, piece_since(file->pieces, number));
            file->counters.hits++;
            helps = true;
        }
    }
    if (piece == PIECE_ABSENT) {
        file->recent = (file->recent << 1 | slow) & RECENT_MASK;
    }
    if (piece == PIECE_ABSENT && slow) {
        file->counters.misses++;
        ledger_miss(&state->ledger);
        file->miss_ns = ledger_wait(&state->ledger, file->miss_ns, elapsed_ns);
        if (count >= (uint64_t)settings->threshold && (file->recent & (file->recent - 1))) {
            load_zone(state, file, access);
        }
    }
    if (slow || helps || piece == PIECE_LOADING) {
        file->calm = 0;
    } else {
        file->calm += piece == PIECE_ABSENT ? CALM_READ : CALM_AGAIN;
    }
}

// Determine the position of an access. Ask the kernel if the read was slow or the position is unknown.
static void settle_position(struct access *access, int64_t bytes, bool slow)
{
    int64_t position = access->offset + bytes;
    if (access->offset < 0 || slow) {
        position = raw_call(SYS_lseek, access->fd, 0, SEEK_CUR, 0, 0, 0);
        access->offset = position < bytes ? -1 : position - bytes;
    }
    STORE(access->descriptor->position, position);
}

// End an access to a dozing descriptor. The longer a descriptor dozes, the fewer of its reads are timed. A slow read
// wakes the descriptor; if the reads after it are fast, the descriptor soon dozes again (DOZE_DOUBT).
static void end_dozing(struct access *access, struct file *file, bool slow)
{
    const uint32_t mask = LOAD(access->descriptor->passed_over);
    if (slow) {
        file->calm = DOZE_AFTER - DOZE_DOUBT;
        STORE(access->descriptor->passed_over, 0);
    } else if (mask && mask < DOZE_CALLS_MAX - 1) {
        STORE(access->descriptor->passed_over, mask << 1 | 1);
    }
    STORE(access->descriptor->position, -1);
}

// Choose which of the descriptor's next reads are processed: those whose number has none of the mask's bits set. If the
// lowest bits of the mask are 0, runs of consecutive reads are processed.
static void pass_over(struct descriptor *descriptor, struct state *state, const struct file *file)
{
    uint32_t mask = ledger_is_in_vain(&state->ledger) ? BURST_EVERY - BURST_READS : 0;
    mask = file->calm >= DOZE_AFTER ? DOZE_CALLS_MIN - 1 : mask;
    if (LOAD(descriptor->passed_over) != mask) {
        STORE(descriptor->passed_over, mask);
    }
}

static void end_awake(struct access *access, struct state *state, struct file *file, int64_t bytes, int64_t elapsed_ns,
                      bool slow)
{
    const bool on = access->offset >= 0 && access->offset == LOAD(access->descriptor->end);
    STORE(access->descriptor->end, access->offset + bytes);
    if (!LOAD(file->used)) {
        STORE(file->used, 1);
    }
    if (access->offset < 0 || !state_try(&file->lock)) {
        return;
    }
    if (is_current(file, access->watched)) {
        const int kept = errno;
        if (on) {
            file->calm += CALM_READ;
        } else {
            remember(state, file, access, elapsed_ns, slow);
        }
        pass_over(access->descriptor, state, file);
        errno = kept;
    }
    state_let_go(&file->lock);
}

void access_end(struct access *access, int64_t bytes)
{
    if (!access->descriptor || bytes <= 0) {
        return;
    }
    struct state *state = state_get();
    struct file *file = state_file(state, access->watched);
    const int64_t elapsed = access->begun_ns ? clock_now_ns() - access->begun_ns : 0;
    const bool slow = elapsed > SLOW_NS + bytes;
    if (access->dozing) {
        end_dozing(access, file, slow);
        return;
    }
    if (access->current) {
        settle_position(access, bytes, slow);
    }
    end_awake(access, state, file, bytes, elapsed, slow);
}
