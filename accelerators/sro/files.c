// SPDX-License-Identifier: Apache-2.0
#define _GNU_SOURCE
#include "files.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/vfs.h>

#include "descriptors.h"
#include "raw.h"

// Types of file systems that are not watched, because they have no data to load, or because reads have side effects.
static const unsigned long elsewhere[] = {
    PROC_SUPER_MAGIC, SYSFS_MAGIC, DEBUGFS_MAGIC,    TRACEFS_MAGIC, CGROUP_SUPER_MAGIC, CGROUP2_SUPER_MAGIC,
    TMPFS_MAGIC,      RAMFS_MAGIC, SECURITYFS_MAGIC, BPF_FS_MAGIC,  EFIVARFS_MAGIC,     HUGETLBFS_MAGIC,
    0x62656570, // configfs
};

static bool is_worth_it(int fd, struct stat *status)
{
    struct statfs system;
    int flags = 0;
    if (raw_fstat(fd, status) || !S_ISREG(status->st_mode) || status->st_size < FILE_BYTES_MIN ||
        (flags = fcntl(fd, F_GETFL)) < 0 || (flags & (O_DIRECT | O_PATH)) || fstatfs(fd, &system)) {
        return false;
    }
    for (size_t i = 0; i < sizeof elsewhere / sizeof *elsewhere; i++) {
        if ((unsigned long)system.f_type == elsewhere[i]) {
            return false;
        }
    }
    return true;
}

static uint32_t word(uint32_t place, const struct file *file)
{
    return atomic_load(&file->generation) << PLACE_BITS | (place + 2);
}

static void add(struct counters *to, const struct counters *from)
{
    uint64_t *sums = (uint64_t *)to;
    const uint64_t *more = (const uint64_t *)from;
    for (size_t i = 0; i < sizeof *to / sizeof *sums; i++) {
        sums[i] += more[i];
    }
}

// Assign a place, which is an index in state->files, to a file, and reset the place's state.
static void begin(struct state *state, uint32_t place, const struct stat *status)
{
    const struct settings *settings = state_settings();
    const uint32_t length = (uint32_t)settings->sequence;
    struct file *file = &state->files[place];
    if (atomic_load(&file->generation)) {
        add(&state->counters, &file->counters);
        memset(&file->counters, 0, sizeof file->counters);
        memset(state->pieces[place], 0, sizeof state->pieces[place]);
    }
    atomic_store(&file->generation, (atomic_load(&file->generation) & 0xffff) + 1);
    file->dev = status->st_dev;
    file->ino = status->st_ino;
    file->miss_ns = 0;
    file->calm = 0;
    file->recent = 0;
    file->pieces = state->pieces[place];
    window_begin(&file->window, length, state->windows + place * window_bytes(length));
}

// Return the place of a file. A new file gets a free place, or the place of a file that has not been read for a while.
// Returns FILES_MAX if there is no such place.
static uint32_t find_place(struct state *state, const struct stat *status)
{
    for (uint32_t place = 0; place < FILES_MAX; place++) {
        struct file *file = &state->files[place];
        if (atomic_load(&file->generation) && file->ino == status->st_ino && file->dev == status->st_dev) {
            return place;
        }
    }
    for (uint32_t tried = 0; tried < FILES_MAX; tried++) {
        uint32_t place = state->hand;
        struct file *file = &state->files[place];
        state->hand = (state->hand + 1) % FILES_MAX;
        if (!atomic_exchange(&file->used, 0) && !atomic_load(&file->jobs) && state_try(&file->lock)) {
            begin(state, place, status);
            state_let_go(&file->lock);
            return place;
        }
    }
    return FILES_MAX;
}

static void know(struct state *state, int fd, uint32_t watched)
{
    struct descriptor *descriptor = &state->descriptors[fd];
    if (atomic_load(&descriptor->watched) != watched) {
        atomic_store(&descriptor->position, -1);
        atomic_store(&descriptor->end, -1);
        atomic_store(&descriptor->passed_over, watched == WATCHED_NEVER ? RECHECK_CALLS - 1 : 0);
        atomic_store(&descriptor->watched, watched);
    }
    int32_t highest = atomic_load(&state->highest);
    while (highest < fd && !atomic_compare_exchange_weak(&state->highest, &highest, fd)) {
    }
}

uint32_t files_look_up(struct state *state, int fd)
{
    const int kept = errno;
    uint32_t watched = WATCHED_NEVER;
    struct stat status;
    if (is_worth_it(fd, &status)) {
        if (!state_try(&state->lock)) {
            errno = kept;
            return WATCHED_NOT_YET;
        }
        uint32_t place = find_place(state, &status);
        if (place < FILES_MAX) {
            atomic_store(&state->files[place].used, 1);
            watched = word(place, &state->files[place]);
        }
        state_let_go(&state->lock);
    }
    know(state, fd, watched);
    errno = kept;
    return watched;
}

// Returns when none of the library's threads uses the descriptors, or after CLOSE_WAIT_NS.
void descriptors_forget(int first, int last)
{
    struct state *state = state_get();
    bool any = false;
    if (!state || last < first || last < 0) {
        return;
    }
    const int32_t highest = atomic_load(&state->highest);
    first = first < 0 ? 0 : first;
    last = last > highest ? highest : last;
    for (int fd = first; fd <= last; fd++) {
        if (atomic_load_explicit(&state->descriptors[fd].watched, memory_order_relaxed) != WATCHED_NOT_YET) {
            any |= atomic_exchange(&state->descriptors[fd].watched, WATCHED_NOT_YET) > WATCHED_NEVER;
            atomic_store(&state->descriptors[fd].passed_over, 0);
        }
    }
    if (any) {
        const int kept = errno;
        pool_release(state, first, last);
        errno = kept;
    }
}

void files_stop(void)
{
    struct state *state = state_get();
    if (state) {
        const int kept = errno;
        pool_stop(state);
        errno = kept;
    }
}

struct counters files_counters(struct state *state)
{
    struct counters sum = state->counters;
    for (uint32_t place = 0; place < FILES_MAX; place++) {
        add(&sum, &state->files[place].counters);
    }
    return sum;
}
