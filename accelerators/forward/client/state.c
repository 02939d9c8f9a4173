// SPDX-License-Identifier: Apache-2.0
#define _GNU_SOURCE
#include "state.h"

#include <dlfcn.h>
#include <gnu/libc-version.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/utsname.h>

#include "link.h"
#include "raw.h"
#include "signals.h"
#include "stderr_line.h"

struct state *state_pointer;
int64_t state_least_bytes = INT64_MAX;
int64_t state_stream_bytes = INT64_MAX;
uint64_t state_usual_signals;
void (*state_test_cancel)(void);

static struct settings settings;

// musl lacks this function, so its presence shows that the libc is glibc. With another libc, this library is off,
// because it uses the internals of glibc's streams.
#pragma weak gnu_get_libc_version

static struct state *map(void)
{
    void *memory =
        mmap(NULL, sizeof(struct state), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (memory == MAP_FAILED) {
        return NULL;
    }
    if (madvise(memory, sizeof(struct state), MADV_WIPEONFORK)) { // the kernel is older than Linux 4.14
        munmap(memory, sizeof(struct state));
        return NULL;
    }
    return memory;
}

struct state *state_get(void)
{
    struct state *state = state_pointer;
    const int32_t self = (int32_t)raw_call(SYS_getpid, 0, 0, 0, 0, 0, 0);
    int32_t owner = 0;
    if (!state || atomic_load_explicit(&state->pid, memory_order_relaxed) == self) {
        return state;
    }
    if (!atomic_compare_exchange_strong(&state->pid, &owner, self)) {
        return owner == self ? state : NULL; // NULL in a child of vfork
    }
    link_forget_inherited();
    return state;
}

const struct settings *state_settings(void)
{
    return &settings;
}

__attribute__((constructor)) static void begin(void)
{
    struct utsname host = {0};
    uname(&host);
    settings_read(&settings, (variables_lookup *)getenv, stderr_line, host.nodename);
    if (!settings.enabled || !gnu_get_libc_version || !(state_pointer = map())) {
        return;
    }
    atomic_store(&state_pointer->pid, (int32_t)raw_call(SYS_getpid, 0, 0, 0, 0, 0, 0));
    state_usual_signals = signals_block();
    signals_restore(state_usual_signals);
    *(void **)&state_test_cancel = dlsym(RTLD_DEFAULT, "pthread_testcancel");
    state_least_bytes = settings.burst[0] ? 1 : settings.least_bytes;
    state_stream_bytes = settings.least_bytes;
}
