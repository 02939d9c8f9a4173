// SPDX-License-Identifier: Apache-2.0
#include "instance_start.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <inttypes.h>
#include <pwd.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "instance_places.h"
#include "log.h"

#define NO_GROUP 65534 // "nogroup", for users that this node does not know
#define ARGUMENTS_MAX 48
#define CHILDREN 256 // instances whose start is awaited

struct arguments {
    char *all[ARGUMENTS_MAX + 1];
    unsigned count;
    bool full;
};

__attribute__((format(printf, 2, 3))) static void add(struct arguments *arguments, const char *format, ...)
{
    va_list list;
    char *text = NULL;
    va_start(list, format);
    if (arguments->count == ARGUMENTS_MAX || vasprintf(&text, format, list) < 0) {
        arguments->full = true;
    } else {
        arguments->all[arguments->count++] = text;
    }
    va_end(list);
}

static int64_t least_of(int64_t one, int64_t other)
{
    return one < other ? one : other;
}

static void add_all(struct arguments *arguments, const struct settings *settings, const struct burst *burst,
                    bool with_flash)
{
    const char *dot = strchr(burst->name, '.');
    add(arguments, "reprise-forwarder");
    add(arguments, "--hand-over=%s/%s", settings->bursts, burst->name);
    add(arguments, "--diod=%s", settings->diod);
    add(arguments, "--job=%.*s", (int)(dot - burst->name), burst->name);
    add(arguments, "--scheduler=%s", settings->scheduler);
    add(arguments, "--linger=%" PRId64, settings->linger);
    add(arguments, "--ram-bytes=%" PRId64, least_of(settings->ram_bytes, settings->burst_ram_bytes));
    if (settings->exports) {
        add(arguments, "--exports=%s", settings->exports);
    }
    if (with_flash) {
        const int64_t bytes = least_of(settings->flash_bytes, settings->burst_flash_bytes);
        add(arguments, "--flash=%s/%s", settings->burst_flash, burst->name);
        add(arguments, "--flash-bytes=%" PRId64, bytes < FLASH_BYTES_MIN ? (int64_t)FLASH_BYTES_MIN : bytes);
    }
    for (unsigned i = 0; i < burst->option_count; i++) {
        add(arguments, "--%s", burst->options[i]);
    }
}

// Become the user of an instance. Only root can become somebody else.
static int become(uint32_t user)
{
    if (geteuid() == user) {
        return 0;
    }
    const struct passwd *entry = getpwuid(user);
    const gid_t group = entry ? entry->pw_gid : NO_GROUP;
    return setgroups(0, NULL) || setgid(group) || setuid(user) ? -1 : 0;
}

// The instances that were started last. An older one is reaped, but nobody waits for it any more.
static struct child children[CHILDREN];
static unsigned next_child;

static struct child *add_child(pid_t pid)
{
    struct child *child = &children[next_child++ % CHILDREN];
    *child = (struct child){.pid = pid};
    return child;
}

void burst_ended(evutil_socket_t number, short what, void *own)
{
    int status;
    (void)number;
    (void)what;
    (void)own;
    for (pid_t pid; (pid = waitpid(-1, &status, WNOHANG)) > 0;) {
        for (size_t i = 0; i < CHILDREN; i++) {
            if (children[i].pid == pid && !children[i].ended) {
                children[i].ended = true;
                children[i].refused = WIFEXITED(status) && WEXITSTATUS(status) != EXIT_SUCCESS;
            }
        }
    }
}

struct child *instance_start(struct forwarder *forwarder, const struct burst *burst)
{
    const struct settings *settings = &forwarder->settings;
    struct arguments arguments = {.count = 0};
    const bool with_flash = settings->burst_flash != NULL;
    places_sweep(settings);
    if (geteuid() != 0 && geteuid() != burst->user) {
        log_line("burst buffer %s cannot start: only root can start those of other users", burst->name);
        return NULL;
    }
    if (places_make(settings, burst)) {
        log_line("burst buffer %s cannot start: its directories cannot be made: %s", burst->name, strerror(errno));
        return NULL;
    }
    add_all(&arguments, settings, burst, with_flash);
    const pid_t child = arguments.full ? -1 : fork();
    if (child == 0) {
        if (!become(burst->user)) {
            setsid();
            execv("/proc/self/exe", arguments.all);
        }
        _exit(EXIT_FAILURE);
    }
    for (unsigned i = 0; i < arguments.count; i++) {
        free(arguments.all[i]);
    }
    if (child < 0) {
        log_line("burst buffer %s cannot start: %s", burst->name, strerror(errno));
        return NULL;
    }
    log_line("burst buffer %s starts", burst->name);
    forwarder->metrics.bursts_started++;
    return add_child(child);
}

void burst_resume(struct forwarder *forwarder)
{
    const struct settings *settings = &forwarder->settings;
    DIR *opened = settings->bursts && settings->burst_flash ? opendir(settings->burst_flash) : NULL;
    for (struct dirent *entry; opened && (entry = readdir(opened));) {
        struct burst burst = {.option_count = 1, .options = {"write-back=flash"}};
        struct stat status;
        if (strlen(entry->d_name) < sizeof burst.name && strchr(entry->d_name, '.') && entry->d_name[0] != '.' &&
            place_has_data(settings, entry->d_name) &&
            !fstatat(dirfd(opened), entry->d_name, &status, AT_SYMLINK_NOFOLLOW)) {
            memcpy(burst.name, entry->d_name, strlen(entry->d_name) + 1);
            burst.user = status.st_uid;
            instance_start(forwarder, &burst);
        }
    }
    if (opened) {
        closedir(opened);
    }
}
