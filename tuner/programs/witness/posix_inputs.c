// SPDX-License-Identifier: Apache-2.0
#define _GNU_SOURCE
#include "posix_inputs.h"

#include <fcntl.h>
#include <stdio.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "state.h"

static bool is_known(const struct stat *found)
{
    for (int i = 0; i < INPUTS_MAX; i++) {
        const struct input *input = &witness->inputs[i];
        if (atomic_load_explicit(&input->bytes, memory_order_acquire) && input->inode == found->st_ino &&
            input->device == found->st_dev)
            return true;
    }
    return false;
}

void input_note(int fd, const struct stat *found)
{
    char link[32];
    char path[INPUT_PATH];

    if (found->st_size < INPUT_BYTES || found->st_nlink == 0 || is_known(found))
        return;
    const long flags = syscall(SYS_fcntl, fd, F_GETFL, 0);
    if (flags < 0 || (flags & O_ACCMODE) == O_WRONLY)
        return;
    snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
    const long length = syscall(SYS_readlinkat, AT_FDCWD, link, path, sizeof(path));
    if (length <= 0 || (size_t)length >= sizeof(path) || *path != '/')
        return;
    path[length] = '\0';
    const uint32_t place = atomic_fetch_add(&witness->inputs_begun, 1);
    if (place >= INPUTS_MAX) {
        atomic_store(&witness->inputs_begun, INPUTS_MAX); // so that the counter cannot overflow
        return;
    }
    struct input *input = &witness->inputs[place];
    for (long i = 0; i <= length; i++)
        input->path[i] = path[i];
    input->device = found->st_dev;
    input->inode = found->st_ino;
    atomic_store_explicit(&input->bytes, found->st_size, memory_order_release);
}
