// SPDX-License-Identifier: Apache-2.0
// Wrappers of functions that change the position of a descriptor, or that fail in a process with several threads.
#define _GNU_SOURCE
#include <sched.h>
#include <unistd.h>

#include "access.h"
#include "files.h"
#include "libc_names.h"
#include "next.h"

EXPORTED off_t lseek(int fd, off_t offset, int whence)
{
    const off_t position = NEXT(lseek)(fd, offset, whence);
    access_moved(fd, position);
    return position;
}

EXPORTED off64_t lseek64(int fd, off64_t offset, int whence)
{
    const off64_t position = NEXT(lseek64)(fd, offset, whence);
    access_moved(fd, position);
    return position;
}

EXPORTED off_t __lseek(int fd, off_t offset, int whence)
{
    const off_t position = NEXT(__lseek)(fd, offset, whence);
    access_moved(fd, position);
    return position;
}

// End the library's threads, because a process with several threads may not enter some namespaces.
EXPORTED int unshare(int flags)
{
    files_stop();
    return NEXT(unshare)(flags);
}

EXPORTED int setns(int fd, int type)
{
    files_stop();
    return NEXT(setns)(fd, type);
}
