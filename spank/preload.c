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

#define SEPARATORS ": " // between the libraries in LD_PRELOAD

// Set `path` to the path of the library with this name. Returns false if the name or the path is invalid.
static bool find(char path[PATH_MAX], const char *directory, const char *name)
{
    static const char allowed[] = "abcdefghijklmnopqrstuvwxyz0123456789_-";
    if (!*name || strlen(name) > PRELOAD_NAME_MAX || name[strspn(name, allowed)] != '\0') {
        return false;
    }
    const int size = snprintf(path, PATH_MAX, "%s/libreprise_%s.so", directory, name);
    return size < PATH_MAX && !strpbrk(path, SEPARATORS);
}

static bool is_readable(const char *path)
{
    return faccessat(AT_FDCWD, path, R_OK, AT_EACCESS) == 0;
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
    return find(path, directory, name) && is_readable(path);
}

int preload_added(const char *directory, const char *name, const char *before, char **list)
{
    char path[PATH_MAX];
    *list = NULL;
    return find(path, directory, name) && is_readable(path) ? preload_file_added(path, before, list) : 0;
}

int preload_file_added(const char *path, const char *before, char **list)
{
    *list = NULL;
    before = before ? before : "";
    if (list_has(before, path)) {
        return 0;
    }
    if (asprintf(list, "%s%s%s", before, *before ? ":" : "", path) < 0) {
        *list = NULL;
        return -1;
    }
    return 0;
}

int preload_left_out(const char *directory, const char *name, const char *before, char **list)
{
    char path[PATH_MAX];
    *list = NULL;
    return find(path, directory, name) && !is_readable(path) ? preload_file_left_out(path, before, list) : 0;
}

int preload_file_left_out(const char *path, const char *before, char **list)
{
    size_t length = 0;
    *list = NULL;
    if (!before || !list_has(before, path)) {
        return 0;
    }
    *list = malloc(strlen(before) + 1);
    if (!*list) {
        return -1;
    }
    while (*before) {
        const size_t word = strcspn(before, SEPARATORS);
        if (word > 0 && (word != strlen(path) || memcmp(before, path, word) != 0)) {
            (*list)[length] = ':';
            length += length > 0;
            memcpy(*list + length, before, word);
            length += word;
        }
        before += word + (before[word] != '\0');
    }
    (*list)[length] = '\0';
    return 0;
}

void preload_take_back(const char *directory, const char *name, char *list)
{
    char path[PATH_MAX];
    if (find(path, directory, name)) {
        preload_file_take_back(path, list);
    }
}

void preload_file_take_back(const char *path, char *list)
{
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

int preload_order_allowed(const char *before, char **options)
{
    *options = NULL;
    before = before ? before : "";
    if (strstr(before, SANITIZER_ORDER)) {
        return 0;
    }
    if (asprintf(options, "%s%s" SANITIZER_ANY_ORDER, before, *before ? ":" : "") < 0) {
        *options = NULL;
        return -1;
    }
    return 0;
}
