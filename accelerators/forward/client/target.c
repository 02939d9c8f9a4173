// SPDX-License-Identifier: Apache-2.0
#define _GNU_SOURCE
#include "target.h"

#include <fcntl.h>
#include <sys/vfs.h>

#include "clock.h"
#include "raw.h"

// Types of file systems on which a node may not see at once what another node has written, or, for overlays, on which
// the same path and inode may be another file on another node.
static const unsigned long incoherent[] = {
    0x6969,     // NFS
    0xff534d42, // CIFS
    0xfe534d42, // SMB 2
    0x517b,     // SMB
    0x01021997, // 9P
    0x794c7630, // overlayfs
};

// Find out on which devices the prefixes are. A prefix that does not exist is looked for again after a while.
static void look_at_prefixes(struct state *state)
{
    const struct settings *settings = state_settings();
    const uint32_t all = (1U << settings->prefix_count) - 1;
    uint32_t known = atomic_load(&state->prefix_known);
    const int64_t now = clock_now_ns();
    if (known == all || now < atomic_load(&state->prefix_look_ns)) {
        return;
    }
    atomic_store(&state->prefix_look_ns, now + SHUN_NS);
    for (int i = 0; i < settings->prefix_count; i++) {
        struct stat status;
        if (!(known & 1U << i) &&
            !raw_call(SYS_newfstatat, AT_FDCWD, (long)settings->prefixes[i].path, (long)&status, 0, 0, 0)) {
            atomic_store(&state->prefix_dev[i], status.st_dev);
            known |= 1U << i;
        }
    }
    atomic_fetch_or(&state->prefix_known, known);
}

static bool is_on_a_prefix(struct state *state, dev_t dev)
{
    look_at_prefixes(state);
    const uint32_t known = atomic_load_explicit(&state->prefix_known, memory_order_relaxed);
    for (int i = 0; known >> i; i++) {
        if ((known & 1U << i) && atomic_load_explicit(&state->prefix_dev[i], memory_order_relaxed) == dev) {
            return true;
        }
    }
    return false;
}

static struct shunned *slot_of(struct state *state, const struct stat *status)
{
    return &state->shunned[state_hash(status->st_ino) % SHUNNED_MAX];
}

// Two threads that shun different files at once may leave a mixture, which at worst shuns neither or a third file.
void target_shun(struct state *state, const struct stat *status, int64_t until_ns)
{
    struct shunned *slot = slot_of(state, status);
    atomic_store(&slot->until_ns, 0);
    atomic_store(&slot->ino, status->st_ino);
    atomic_store(&slot->dev, status->st_dev);
    atomic_store(&slot->until_ns, until_ns);
}

bool target_is_shunned(struct state *state, const struct stat *status)
{
    struct shunned *slot = slot_of(state, status);
    const int64_t until = atomic_load(&slot->until_ns);
    return until && atomic_load(&slot->ino) == status->st_ino && atomic_load(&slot->dev) == status->st_dev &&
           (until == FOREVER_NS || clock_now_ns() < until);
}

// Return whether the descriptor's flags allow to move the bytes in another way.
static bool is_plain(const struct request *request, int flags, struct target *target)
{
    const int access = flags & O_ACCMODE;
    target->readable = access == O_RDONLY || access == O_RDWR;
    if (flags & (O_DIRECT | O_PATH)) {
        return false;
    }
    if (!request->writing) {
        return target->readable;
    }
    return (access == O_WRONLY || access == O_RDWR) && !(flags & (O_APPEND | O_DSYNC | O_SYNC));
}

bool target_is_file(struct state *state, int fd, struct target *target)
{
    return !raw_fstat(fd, &target->status) && S_ISREG(target->status.st_mode) &&
           is_on_a_prefix(state, target->status.st_dev);
}

bool target_is_on_a_prefix(struct state *state, const struct stat *status)
{
    return is_on_a_prefix(state, status->st_dev);
}

bool target_is_left(struct state *state, int fd)
{
    if ((unsigned)fd >= DESCRIPTORS_MAX) {
        return true;
    }
    const int64_t mark = atomic_load_explicit(&state->marks[fd], memory_order_relaxed);
    return mark > 0 && clock_now_ns() < mark;
}

// Leave a descriptor's file for a while. Where the kernel has to wait for the burst buffer, each call is looked at.
static void leave(struct state *state, int fd)
{
    int64_t mark = atomic_load_explicit(&state->marks[fd], memory_order_relaxed);
    if (mark != MARK_FORWARDED && !state_settings()->burst[0]) {
        atomic_compare_exchange_strong(&state->marks[fd], &mark, clock_now_ns() + SHUN_NS);
    }
}

bool target_look(struct state *state, const struct request *request, struct target *target)
{
    if (!target_is_file(state, request->fd, target) || target_is_shunned(state, &target->status)) {
        leave(state, request->fd);
        return false;
    }
    const long flags = raw_call(SYS_fcntl, request->fd, F_GETFL, 0, 0, 0, 0);
    // The kernel itself reads a program that is executed.
    if (state_settings()->burst[0] && (target->status.st_mode & 0111)) {
        return false;
    }
    return flags >= 0 && target->status.st_nlink > 0 && is_plain(request, (int)flags, target);
}

static bool is_coherent(int fd)
{
    struct statfs system;
    if (raw_call(SYS_fstatfs, fd, (long)&system, 0, 0, 0, 0)) {
        return false;
    }
    for (size_t i = 0; i < sizeof incoherent / sizeof *incoherent; i++) {
        if ((unsigned long)system.f_type == incoherent[i]) {
            return false;
        }
    }
    return true;
}

static int prefix_of(const char *path, size_t length)
{
    const struct settings *settings = state_settings();
    int found = -1;
    for (int i = 0; i < settings->prefix_count; i++) {
        const struct prefix *prefix = &settings->prefixes[i];
        if (length > prefix->length && path[prefix->length] == '/' && !memcmp(path, prefix->path, prefix->length) &&
            (found < 0 || prefix->length > settings->prefixes[found].length)) {
            found = i;
        }
    }
    return found;
}

// Write the path of the link to a descriptor's file. Without snprintf, which a signal handler must not call.
static void write_name(char name[40], int fd)
{
    // The thread's own directory, because that of a process whose first thread has ended is empty.
    static const char directory[] = "/proc/thread-self/fd/";
    char *digit = name + sizeof directory - 1;
    memcpy(name, directory, sizeof directory);
    for (int rest = fd; rest >= 10; rest /= 10) {
        digit++;
    }
    digit[1] = '\0';
    for (int rest = fd; digit >= name + sizeof directory - 1; rest /= 10) {
        *digit-- = (char)('0' + rest % 10);
    }
}

int target_path(struct state *state, int fd, const struct target *target, char path[PATH_BYTES], ino_t *root)
{
    char name[40];
    struct stat directory;
    write_name(name, fd);
    const long length = raw_call(SYS_readlinkat, AT_FDCWD, (long)name, (long)path, PATH_BYTES - 1, 0, 0);
    if (length <= 0 || length >= PATH_BYTES - 1) {
        return -1;
    }
    path[length] = '\0';
    const int prefix = prefix_of(path, (size_t)length);
    if (prefix < 0 || !is_coherent(fd) ||
        raw_call(SYS_newfstatat, AT_FDCWD, (long)state_settings()->prefixes[prefix].path, (long)&directory, 0, 0, 0)) {
        return -1;
    }
    if (directory.st_dev != target->status.st_dev) { // another file system is mounted below the prefix
        return -1;
    }
    atomic_store(&state->prefix_dev[prefix], directory.st_dev);
    *root = directory.st_ino;
    return prefix;
}
