// SPDX-License-Identifier: Apache-2.0
// Symbols of a library that the program has, for what is loaded with LD_PRELOAD and not linked with that library.
#ifndef LOOKUP_H
#define LOOKUP_H

#include <dlfcn.h>
#include <limits.h>
#include <link.h>
#include <stddef.h>
#include <string.h>

enum { LIBRARIES_MAX = 16 }; // that have such a name

// Whether a path is that of the library; the file that includes this says so.
static int is_library(const char *path);

struct library {
    unsigned wanted; // of those that is_library finds, counted from 0
    char path[PATH_MAX];
};

// Copies the name only: other threads that load a library hold the lock that dlopen needs, and wait for the one that is
// held here.
static int find_library(struct dl_phdr_info *info, size_t size, void *found)
{
    struct library *library = found;
    const char *name = info->dlpi_name;

    (void)size;
    if (!name || !is_library(name) || strlen(name) >= sizeof(library->path) || library->wanted-- > 0)
        return 0;
    memcpy(library->path, name, strlen(name) + 1);
    return 1;
}

static void *open_library(void)
{
    struct library library;
    void *opened = NULL;

    for (unsigned i = 0; !opened && i < LIBRARIES_MAX; i++) {
        library.wanted = i;
        if (!dl_iterate_phdr(find_library, &library))
            return NULL;
        opened = dlopen(library.path, RTLD_LAZY | RTLD_NOLOAD);
    }
    return opened;
}

// A symbol, also where an interpreter has loaded the library for one of its modules only; NULL where there is none.
// `where`: RTLD_NEXT for functions, which the preloaded library may have, too; RTLD_DEFAULT for variables, of which
// programs have copies that count.
static void *lookup(void *where, const char *name)
{
    void *found = dlsym(where, name);
    void *library = found ? NULL : open_library();

    if (library) {
        found = dlsym(library, name);
        dlclose(library);
    }
    return found;
}

#endif
