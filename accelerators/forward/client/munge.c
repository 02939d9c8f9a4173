// SPDX-License-Identifier: Apache-2.0
#define _GNU_SOURCE
#include "munge.h"

#include <dlfcn.h>
#include <errno.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "raw.h"

#define NOT_CANCELABLE 1 // PTHREAD_CANCEL_DISABLE

static int (*encode)(char **credential, void *context, const void *data, int bytes);
static int (*set_cancelable)(int state, int *before); // NULL if the program has no threads

// Find the functions. Threads that do so at the same time find the same ones.
static void prepare(void)
{
    void *library = dlopen("libmunge.so.2", RTLD_NOW | RTLD_LOCAL);
    *(void **)&set_cancelable = dlsym(RTLD_DEFAULT, "pthread_setcancelstate");
    if (library) {
        *(void **)&encode = dlsym(library, "munge_encode");
    }
}

static bool is_pipe_signal_pending(void)
{
    uint64_t pending = 0;
    raw_call(SYS_rt_sigpending, (long)&pending, sizeof pending, 0, 0, 0, 0);
    return pending & 1ULL << (SIGPIPE - 1);
}

size_t munge_credential(char to[MUNGE_BYTES], const char *data, size_t bytes)
{
    const int kept = errno;
    const bool was_pending = is_pipe_signal_pending();
    const uint64_t pipe_signal = 1ULL << (SIGPIPE - 1);
    const struct timespec none = {0};
    char *credential = NULL;
    int before = 0;
    if (!encode) {
        prepare();
    }
    if (!encode) {
        errno = kept;
        return 0;
    }
    if (set_cancelable) {
        set_cancelable(NOT_CANCELABLE, &before);
    }
    size_t length = encode(&credential, NULL, data, (int)bytes) == 0 && credential ? strlen(credential) : 0;
    length = length < MUNGE_BYTES ? length : 0;
    memcpy(to, credential ? credential : "", length);
    free(credential);
    if (set_cancelable) {
        set_cancelable(before, NULL);
    }
    if (!was_pending && is_pipe_signal_pending()) { // libmunge wrote to a munged that has ended
        raw_call(SYS_rt_sigtimedwait, (long)&pipe_signal, 0, (long)&none, sizeof pipe_signal, 0, 0);
    }
    errno = kept;
    return length;
}
