// SPDX-License-Identifier: Apache-2.0
#define _GNU_SOURCE
#include "state.h"

#include <errno.h>
#include <limits.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "clock.h"
#include "mpi_state.h"
#include "report.h"
#include "trace.h"

struct state *witness;
char witness_profile[PATH_MAX];
char witness_trace[PATH_MAX];
__thread int witness_inside;
__thread struct block *state_own;

// Before glibc 2.34, a program that is not linked with libpthread lacks these functions.
#pragma weak pthread_key_create
#pragma weak pthread_setspecific
// glibc's implementation of pthread_atfork. musl lacks it, so nothing is counted with musl.
int __register_atfork(void (*prepare)(void), void (*parent)(void), void (*child)(void), void *library)
    __attribute__((weak));
extern void *__dso_handle __attribute__((visibility("hidden")));

static pthread_key_t leaving;
static bool has_key;

static void leave_block(void *block)
{
    atomic_store(&((struct block *)block)->taken, 0);
    state_own = NULL;
}

struct block *state_take_block(void)
{
    int i;

    for (i = 0; i < THREADS_MAX - 1; i++) {
        uint32_t free = 0;
        if (atomic_compare_exchange_strong(&witness->blocks[i].taken, &free, 1))
            break;
    }
    state_own = &witness->blocks[i]; // threads may share the last block, so some of its counts may be lost
    state_own->used = 1;
    if (has_key && i < THREADS_MAX - 1)
        pthread_setspecific(leaving, state_own);
    return state_own;
}

static void begin(void)
{
    uint64_t least = UINT64_MAX;

    witness->pid = getpid();
    witness->ticks = clock_ticks();
    witness->monotonic = clock_ns(CLOCK_MONOTONIC);
    witness->realtime = clock_ns(CLOCK_REALTIME);
    for (int i = 0; i < 8; i++) {
        uint64_t before = clock_ticks();
        uint64_t cost = clock_ticks() - before;
        least = cost < least ? cost : least;
    }
    witness->clock_cost = least ? least : 1;
}

static void take_setting(char *path, const char *name)
{
    const char *value = getenv(name);

    if (value && *value == '/' && strlen(value) < PATH_MAX)
        memcpy(path, value, strlen(value) + 1);
}

static void begin_child(void)
{
    if (!witness)
        return;
    begin();
    state_own = NULL;
    witness_inside = 0;
}

__attribute__((constructor)) static void load(void)
{
    const int kept = errno;
    const size_t bytes = sizeof(struct state) + sizeof(struct mpi_state);

    take_setting(witness_profile, "REPRISE_PROFILE");
    take_setting(witness_trace, "REPRISE_WITNESS_TRACE");
    if (__register_atfork && (*witness_profile || *witness_trace)) {
        clock_choose(*witness_trace);
        void *memory = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
        if (memory != MAP_FAILED && madvise(memory, bytes, MADV_WIPEONFORK) == 0) { // MADV_WIPEONFORK needs Linux 4.14
            witness = memory;
            has_key = pthread_key_create && pthread_key_create(&leaving, leave_block) == 0;
            __register_atfork(NULL, NULL, begin_child, __dso_handle);
            begin();
        }
    }
    errno = kept;
}

__attribute__((destructor)) static void unload(void)
{
    report_write();
    trace_flush();
}
