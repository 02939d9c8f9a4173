// SPDX-License-Identifier: Apache-2.0
#define _GNU_SOURCE
#include "posix_access.h"

#include <errno.h>
#include <sys/stat.h>
#include <sys/vfs.h>

#include "posix_inputs.h"

enum { TRIES = 1000 }; // maximum number of attempts to take the lock

// True if the kernel generates the contents of file systems of this type. Reading such contents is not I/O.
static bool is_made_up(int64_t type)
{
    static const int64_t types[] = {0x9fa0,     0x62656572, 0x27e0eb,   0x63677270, 0x1cd1, 0x64626720,
                                    0x74726163, 0x19800202, 0x50495045, 0x42494e4d}; // proc, sysfs, cgroup, ...

    for (size_t i = 0; i < sizeof(types) / sizeof(*types); i++)
        if (types[i] == type)
            return true;
    return false;
}

// Return the index of a file's file system in `mounts`, and record the file system if it is new. If no entry is free,
// the file system is counted under the last entry. Returns -1 if the lock is not free in time. This happens if another
// thread is recording a file system, or if the caller is a signal handler that has interrupted the recording.
static int mount_of(int fd, dev_t device)
{
    for (int tries = 0; tries < TRIES; tries++) {
        int i;
        for (i = 0; i < MOUNTS_MAX && atomic_load_explicit(&witness->mounts[i].ready, memory_order_acquire); i++)
            if (witness->mounts[i].device == device)
                return i;
        if (i == MOUNTS_MAX)
            return MOUNTS_MAX - 1;
        if (atomic_exchange_explicit(&witness->mount_lock, 1, memory_order_acquire))
            continue;
        struct statfs found;
        if (!atomic_load(&witness->mounts[i].ready)) {
            witness->mounts[i].device = device;
            witness->mounts[i].type = fstatfs(fd, &found) == 0 ? (int64_t)found.f_type : 0;
            atomic_store_explicit(&witness->mounts[i].ready, 1, memory_order_release);
        }
        atomic_store_explicit(&witness->mount_lock, 0, memory_order_release);
    }
    return -1;
}

bool access_look_at(int fd, struct descriptor *descriptor)
{
    if (atomic_load_explicit(&descriptor->what, memory_order_relaxed) != FD_NEW)
        return false;
    const int kept = errno;
    struct stat found;
    extern int posix_fstat(int fd, struct stat *found);
    uint8_t what = FD_OTHER;

    if (posix_fstat(fd, &found) == 0 && (S_ISREG(found.st_mode) || S_ISBLK(found.st_mode))) {
        const int mount = mount_of(fd, found.st_dev);
        if (mount < 0) { // the next access through the descriptor tries again
            errno = kept;
            return false;
        }
        descriptor->mount = (uint8_t)mount;
        what = is_made_up(witness->mounts[descriptor->mount].type) ? FD_OTHER : FD_FILE;
        descriptor->position = 0;
        descriptor->end = -1;
        if (what == FD_FILE && S_ISREG(found.st_mode))
            input_note(fd, &found);
    }
    atomic_store_explicit(&descriptor->what, what, memory_order_release);
    errno = kept;
    return what == FD_FILE;
}

void access_placed(int fd, int64_t position)
{
    if (witness && position >= 0 && fd >= 0 && fd < DESCRIPTORS_MAX)
        witness->descriptors[fd].position = position;
}

void access_forget(int fd)
{
    if (witness && fd >= 0 && fd < DESCRIPTORS_MAX)
        atomic_store_explicit(&witness->descriptors[fd].what, FD_NEW, memory_order_relaxed);
}

void access_forget_from(int first)
{
    for (int fd = first < 0 ? 0 : first; fd < DESCRIPTORS_MAX; fd++)
        access_forget(fd);
}
