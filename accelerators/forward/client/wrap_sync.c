// SPDX-License-Identifier: Apache-2.0
// Wrappers of functions that write data to the disk.
#define _GNU_SOURCE
#include <unistd.h>

#include "next.h"
#include "sync.h"

EXPORTED int fsync(int fd)
{
    const int error = sync_file(fd, false);
    return sync_result(NEXT(fsync)(fd), error);
}

EXPORTED int fdatasync(int fd)
{
    const int error = sync_file(fd, true);
    return sync_result(NEXT(fdatasync)(fd), error);
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
