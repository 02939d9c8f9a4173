// SPDX-License-Identifier: Apache-2.0
#define _GNU_SOURCE
#include "preload.h"

#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "limits.h"

#define SEPARATORS ": " // of LD_PRELOAD

// The path of the library that is called so; false where there can be none.
static bool find(char path[PATH_MAX], const char *directory, const char *name)
{
    static const char allowed[] = "abcdefghijklmnopqrstuvwxyz0123456789_-";
    if (!*name || strlen(name) > PRELOAD_NAME_MAX || name[strspn(name, allowed)] != '\0') {
        return false;
    }
    const int size = snprintf(path, PATH_MAX, "%s/libreprise_%s.so", directory, name);
    return size < PATH_MAX && !strpbrk(path, SEPARATORS);
}

static bool find_readable(char path[PATH_MAX], const char *directory, const char *name)
{
    return find(path, directory, name) && faccessat(AT_FDCWD, path, R_OK, AT_EACCESS) == 0;
}

static bool list_has(const char *list, const char *path)
{
    const size_t length = strlen(path);
    while (*list) {
        const size_t word = strcspn(list, SEPARATORS);
        if (word == length && memcmp(list, path, length) == 0) {
            return true;
        }
        list += word + (list[word] != '\0');
    }
    return false;
}

bool preload_is_there(const char *directory, const char *name)
{
    char path[PATH_MAX];
    return find_readable(path, directory, name);
}

int preload_added(const char *directory, const char *name, const char *before, char **list)
{
    char path[PATH_MAX];
    *list = NULL;
    before = before ? before : "";
    if (!find_readable(path, directory, name) || list_has(before, path)) {
        return 0;
    }
    if (asprintf(list, "%s%s%s", before, *before ? ":" : "", path) < 0) {
        *list = NULL;
        return -1;
    }
    return 0;
}

void preload_take_back(const char *directory, const char *name, char *list)
{
    char path[PATH_MAX];
    if (!find(path, directory, name)) {
        return;
    }
    const size_t length = strlen(list), ours = strlen(path);
    if (length < ours || strcmp(list + length - ours, path) != 0) {
        return;
    }
    if (length == ours) {
        *list = '\0';
    } else if (list[length - ours - 1] == ':') {
        list[length - ours - 1] = '\0';
    }
}
