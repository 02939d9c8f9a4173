// SPDX-License-Identifier: Apache-2.0
#include "instance_places.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#define PATH_BYTES 4200
#define YOUNG_S 15 // longer than an instance takes to start

int place_path(char *to, size_t room, const char *directory, const char *name, const char *file)
{
    const int bytes = snprintf(to, room, "%s/%s%s%s", directory, name, file ? "/" : "", file ? file : "");
    return bytes < 0 || (size_t)bytes >= room ? -1 : 0;
}

bool place_exists(const struct settings *settings, const char *name)
{
    char path[PATH_BYTES];
    return !place_path(path, sizeof path, settings->bursts, name, NULL) && !access(path, F_OK);
}

// Return whether an instance holds the lock of its directory.
static bool is_served(const struct settings *settings, const char *name)
{
    char path[PATH_BYTES];
    const int fd = place_path(path, sizeof path, settings->bursts, name, "lock")
                       ? -1
                       : open(path, O_RDWR | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
    const bool is_locked = fd >= 0 && flock(fd, LOCK_EX | LOCK_NB) && errno == EWOULDBLOCK;
    if (fd >= 0) {
        close(fd);
    }
    return is_locked;
}

// Return the number of entries of a directory whose names end with `end`, without locks and hidden ones.
static unsigned entries(const char *directory, const char *end)
{
    unsigned count = 0;
    DIR *opened = opendir(directory);
    for (struct dirent *entry; opened && (entry = readdir(opened));) {
        const char *name = entry->d_name;
        const size_t bytes = strlen(name), end_bytes = strlen(end);
        count +=
            name[0] != '.' && strcmp(name, "lock") != 0 && bytes >= end_bytes && !strcmp(name + bytes - end_bytes, end);
    }
    if (opened) {
        closedir(opened);
    }
    return count;
}

bool place_has_data(const struct settings *settings, const char *name)
{
    char path[PATH_BYTES];
    return settings->burst_flash && !place_path(path, sizeof path, settings->burst_flash, name, NULL) &&
           entries(path, "");
}

// Make a directory of a user's instance. Return 0; -1 with errno.
static int make_directory(const char *parent, const char *name, uint32_t user)
{
    char path[PATH_BYTES];
    struct stat status;
    if (place_path(path, sizeof path, parent, name, NULL)) {
        errno = ENAMETOOLONG;
        return -1;
    }
    if (mkdir(path, 0700) && errno != EEXIST) {
        return -1;
    }
    if (lstat(path, &status)) {
        return -1;
    }
    if (!S_ISDIR(status.st_mode) || (status.st_uid != geteuid() && status.st_uid != user)) {
        errno = EPERM;
        return -1;
    }
    return status.st_uid == user ? 0 : lchown(path, user, (gid_t)-1);
}

int places_make(const struct settings *settings, const struct burst *burst)
{
    return make_directory(settings->bursts, burst->name, burst->user) ||
                   (settings->burst_flash && make_directory(settings->burst_flash, burst->name, burst->user))
               ? -1
               : 0;
}

// Return whether a directory was changed so recently that its instance may still be starting.
static bool is_young(const char *path)
{
    struct stat status;
    return stat(path, &status) || time(NULL) - status.st_mtime < YOUNG_S;
}

static void sweep_one(const struct settings *settings, const char *name)
{
    static const char *const left[] = {"socket", "lock"};
    char path[PATH_BYTES];
    if (place_path(path, sizeof path, settings->bursts, name, NULL) || is_young(path) ||
        place_has_data(settings, name) || is_served(settings, name)) {
        return;
    }
    for (size_t i = 0; i < sizeof left / sizeof *left; i++) {
        if (!place_path(path, sizeof path, settings->bursts, name, left[i])) {
            unlink(path);
        }
    }
    if (!place_path(path, sizeof path, settings->bursts, name, NULL)) {
        rmdir(path);
    }
    if (settings->burst_flash && !place_path(path, sizeof path, settings->burst_flash, name, "lock")) {
        unlink(path);
        path[strlen(path) - strlen("/lock")] = '\0';
        rmdir(path);
    }
}

void places_sweep(const struct settings *settings)
{
    DIR *opened = opendir(settings->bursts);
    for (struct dirent *entry; opened && (entry = readdir(opened));) {
        if (entry->d_name[0] != '.' && strlen(entry->d_name) < BURST_NAME_BYTES) {
            sweep_one(settings, entry->d_name);
        }
    }
    if (opened) {
        closedir(opened);
    }
}

unsigned burst_count(const struct settings *settings)
{
    places_sweep(settings);
    return entries(settings->bursts, "");
}

bool places_left_for(const struct settings *settings, uint32_t user)
{
    char end[BURST_NAME_BYTES]; // of the names of the user's burst buffers
    snprintf(end, sizeof end, ".%" PRIu32, user);
    return burst_count(settings) + entries(settings->bursts, end) < (unsigned)settings->burst_jobs;
}
