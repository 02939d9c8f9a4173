// SPDX-License-Identifier: Apache-2.0
#define _GNU_SOURCE
#include "state.h"

#include <errno.h>
#include <gnu/libc-version.h>
#include <stdlib.h>
#include <sys/mman.h>

#include "stderr_line.h"

struct state *_Atomic state_pointer;
_Atomic bool state_off;

static struct settings settings;

// musl lacks this function, so its presence shows that the libc is glibc. With another libc, this library is off,
// because it reads the internals of glibc's streams.
#pragma weak gnu_get_libc_version

static struct state *map(void)
{
    size_t bytes = sizeof(struct state) + FILES_MAX * window_bytes((uint32_t)settings.sequence);
    void *memory = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (memory == MAP_FAILED) {
        return NULL;
    }
    if (madvise(memory, bytes, MADV_WIPEONFORK)) { // the kernel is older than Linux 4.14
        munmap(memory, bytes);
        return NULL;
    }
    return memory;
}

struct state *state_begin(void)
{
    if (!atomic_exchange(&state_off, true)) { // the library is off until the settings are read
        const int kept = errno;
        settings_read(&settings, (variables_lookup *)getenv, stderr_line);
        atomic_store(&state_pointer, settings.disabled || !gnu_get_libc_version ? NULL : map());
        errno = kept;
    }
    return atomic_load(&state_pointer);
}

const struct settings *state_settings(void)
{
    return &settings;
}

__attribute__((constructor)) static void begin(void)
{
    state_begin();
}
