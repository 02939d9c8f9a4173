// SPDX-License-Identifier: Apache-2.0
#define _GNU_SOURCE
#include "map_file.h"

#include <fcntl.h>
#include <sys/stat.h>

#include "clock.h"
#include "map.h"
#include "raw.h"

static int64_t mtime_of(const struct stat *status)
{
    return status->st_mtim.tv_sec * 1000000000LL + status->st_mtim.tv_nsec;
}

// Return whether a map may decide where the program's data goes: only root, the user and the owner that the settings
// name can have written it.
static bool is_trusted(const struct stat *status, const struct settings *settings)
{
    const int64_t user = raw_call(SYS_geteuid, 0, 0, 0, 0, 0, 0);
    const int64_t owner = status->st_uid;
    return S_ISREG(status->st_mode) && !(status->st_mode & (S_IWGRP | S_IWOTH)) &&
           (owner == 0 || owner == user || owner == settings->owner);
}

// Read the whole file. Returns its size, or -1 if it cannot be read, is too large or is not to be trusted.
static long read_all(struct route *route, const struct settings *settings, struct stat *status)
{
    const int flags = O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY;
    const long fd = raw_call(SYS_openat, AT_FDCWD, (long)settings->map, flags, 0, 0, 0);
    long size = 0, got = 1;
    if (fd < 0) {
        return -1;
    }
    if (raw_fstat((int)fd, status) || !is_trusted(status, settings)) {
        size = -1;
    }
    while (size >= 0 && got > 0 && size <= MAP_BYTES) {
        got = raw_call(SYS_read, fd, (long)(route->text + size), MAP_BYTES + 1 - size, 0, 0, 0);
        size = got < 0 ? -1 : size + got;
    }
    raw_call(SYS_close, fd, 0, 0, 0, 0, 0);
    return size > MAP_BYTES ? -1 : size;
}

void map_file_look(struct route *route, const struct settings *settings)
{
    struct stat status;
    const int64_t now = clock_now_ns();
    if (route->checked_ns && now - route->checked_ns < settings->check_ns) {
        return;
    }
    const bool first = !route->checked_ns;
    route->checked_ns = now;
    if (raw_call(SYS_newfstatat, AT_FDCWD, (long)settings->map, (long)&status, AT_SYMLINK_NOFOLLOW, 0, 0)) {
        status = (struct stat){0};
    }
    if (!first && status.st_dev == route->dev && status.st_ino == route->ino && status.st_size == route->size &&
        mtime_of(&status) == route->mtime_ns) {
        return;
    }
    const long size = status.st_ino ? read_all(route, settings, &status) : -1;
    route->dev = status.st_dev;
    route->ino = status.st_ino;
    route->size = status.st_size;
    route->mtime_ns = mtime_of(&status);
    route->maps++;
    route->address[0] = '\0';
    route->text_bytes = size;
    route->forwarders = size < 0 ? -1 : map_choose(route->text, (size_t)size, settings->node, route->address);
}
