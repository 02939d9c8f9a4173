// SPDX-License-Identifier: Apache-2.0
// Wrappers of functions that write data to the disk.
#define _GNU_SOURCE
#include <errno.h>
#include <unistd.h>

#include "next.h"
#include "sync.h"

static int both(int direct, int forwarded)
{
    if (direct == 0 && forwarded) {
        errno = forwarded;
        return -1;
    }
    return direct;
}

EXPORTED int fsync(int fd)
{
    const int error = sync_file(fd, false);
    return both(NEXT(fsync)(fd), error);
}

EXPORTED int fdatasync(int fd)
{
    const int error = sync_file(fd, true);
    return both(NEXT(fdatasync)(fd), error);
}

EXPORTED void sync(void)
{
    sync_all();
    NEXT(sync)();
}

EXPORTED int syncfs(int fd)
{
    sync_all();
    return NEXT(syncfs)(fd);
}
