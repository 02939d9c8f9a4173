// SPDX-License-Identifier: Apache-2.0
#define _GNU_SOURCE
#include "next.h"

#include <dlfcn.h>
#include <errno.h>

#define NEXT_NAME(name) #name,
static const char *const names[] = {FUNCTIONS(NEXT_NAME)};

void *next_functions[NEXT_COUNT];

void *next_find(enum next_function function)
{
    const int kept = errno;
    void *found = dlsym(RTLD_NEXT, names[function]);
    __atomic_store_n(&next_functions[function], found, __ATOMIC_RELAXED);
    errno = kept;
    return found;
}

__attribute__((constructor)) static void find_all(void)
{
    for (int i = 0; i < NEXT_COUNT; i++) {
        next_find((enum next_function)i);
    }
}
