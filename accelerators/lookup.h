// SPDX-License-Identifier: Apache-2.0
// Symbols of a library that the program has, for what is loaded with LD_PRELOAD and not linked with that library.
#ifndef LOOKUP_H
#define LOOKUP_H

#include <dlfcn.h>
#include <link.h>
#include <stddef.h>

// Whether a path is that of the library; the file that includes this says so.
static int is_library(const char *path);

static int find_library(struct dl_phdr_info *info, size_t size, void *found)
{
    (void)size;
    if (!info->dlpi_name || !is_library(info->dlpi_name))
        return 0;
    *(void **)found = dlopen(info->dlpi_name, RTLD_LAZY | RTLD_NOLOAD);
    return *(void **)found != NULL;
}

// A symbol, also where an interpreter has loaded the library for one of its modules only; NULL where there is none.
// `where`: RTLD_NEXT for functions, which the preloaded library may have, too; RTLD_DEFAULT for variables, of which
// programs have copies that count.
static void *lookup(void *where, const char *name)
{
    void *found = dlsym(where, name);
    void *library = NULL;

    if (!found && dl_iterate_phdr(find_library, &library) && library) {
        found = dlsym(library, name);
        dlclose(library);
    }
    return found;
}

#endif
