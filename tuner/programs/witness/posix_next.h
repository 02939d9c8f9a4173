// SPDX-License-Identifier: Apache-2.0
// Finds the real functions behind the witness's wrappers of libc's functions. A real function is the one in the next
// library, in the loader's search order, that defines the name; this is usually libc.
#ifndef WITNESS_POSIX_NEXT_H
#define WITNESS_POSIX_NEXT_H

#include <dlfcn.h>
#include <errno.h>

#define EXPORT __attribute__((visibility("default")))

static inline void *posix_find(void **kept, const char *name)
{
    const int before = errno;
    void *found = dlsym(RTLD_NEXT, name);

    __atomic_store_n(kept, found, __ATOMIC_RELAXED);
    errno = before;
    return found;
}

#define REAL(function)                                                                                                 \
    ({                                                                                                                 \
        static void *kept_##function;                                                                                  \
        void *found_##function = __atomic_load_n(&kept_##function, __ATOMIC_RELAXED);                                  \
        (__typeof__(&function))(found_##function ? found_##function : posix_find(&kept_##function, #function));        \
    })

#endif
