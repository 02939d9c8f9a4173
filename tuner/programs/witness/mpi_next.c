// SPDX-License-Identifier: Apache-2.0
#define _GNU_SOURCE
#include "mpi_next.h"

#include <string.h>

#include "lookup.h"

static int is_library(const char *path)
{
    const char *name = strrchr(path, '/');

    return name && (strncmp(name, "/libmpi.so", 10) == 0 || strncmp(name, "/libmpich.so", 12) == 0);
}

void *mpi_next(_Atomic(void *) *kept, const char *name)
{
    void *found = atomic_load_explicit(kept, memory_order_relaxed);

    if (!found) {
        found = lookup(RTLD_NEXT, name);
        atomic_store_explicit(kept, found, memory_order_relaxed);
    }
    return found;
}

bool mpi_is_ours(void)
{
#ifdef OPEN_MPI
    const bool is_open_mpi = true;
#else
    const bool is_open_mpi = false;
#endif
    static _Atomic(int) known; // 1 if the MPI implementation is the witness's, -1 if not, 0 if not determined yet
    void *function = NEXT(PMPI_Init);
    Dl_info from;

    if (!atomic_load(&known) && function && dladdr(function, &from) && from.dli_fname) {
        void *library = dlopen(from.dli_fname, RTLD_LAZY | RTLD_NOLOAD);
        const bool has_variable = library && dlsym(library, "ompi_mpi_comm_world");
        if (library)
            dlclose(library);
        atomic_store(&known, has_variable == is_open_mpi ? 1 : -1);
    }
    return atomic_load(&known) > 0;
}

void *mpi_constant(const char *name)
{
    return lookup(RTLD_DEFAULT, name);
}
