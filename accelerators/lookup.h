// SPDX-License-Identifier: Apache-2.0
// Looks up symbols in a library that the program uses, for code that is loaded with LD_PRELOAD and not linked with that
// library.
#ifndef LOOKUP_H
#define LOOKUP_H

#include <dlfcn.h>
#include <limits.h>
#include <link.h>
#include <stddef.h>
#include <string.h>

enum { LIBRARIES_MAX = 16 }; // maximum number of libraries with a matching name that are tried

// Return whether a path is that of the library to search. The file that includes this header defines this function.
static int is_library(const char *path);

struct library {
    unsigned wanted; // index among the libraries that is_library accepts, from 0
    char path[PATH_MAX];
};

// Copy the path of a library; a callback of dl_iterate_phdr. dlopen cannot be called here, because another thread that
// loads a library may hold the lock that dlopen needs, and wait for the lock that dl_iterate_phdr holds.
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

// Return the address of a symbol, even if an interpreter has loaded the library for only one of its modules; NULL if
// the symbol is not found. `where` is RTLD_NEXT for functions, which the preloaded library may also define, and
// RTLD_DEFAULT for variables, because a program may have its own copy of a variable, and only that copy is used.
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
