// SPDX-License-Identifier: Apache-2.0
#define _GNU_SOURCE
#include "own_runtime.h"

#include <stdbool.h>
#include <string.h>

static const char *const sanitizers[] = {
    "libasan.so",         "libtsan.so",  "liblsan.so",  "libhwasan.so", "libclang_rt.asan", "libclang_rt.tsan",
    "libclang_rt.hwasan", "__asan_init", "__tsan_init", "__lsan_init",  "__msan_init",      "__hwasan_init",
};
static const char *const systems[] = {"/lib/ld", "/lib64/ld", "/usr/lib/ld", "/usr/lib64/ld"};

static bool is_systems(const char *path)
{
    for (size_t i = 0; i < sizeof systems / sizeof *systems; i++) {
        const size_t length = strlen(systems[i]);
        if (strncmp(path, systems[i], length) == 0 && !strchr(path + length, '/')) {
            return !strstr(path, "/ld-musl");
        }
    }
    return false;
}

void own_runtime_loader(const struct bytes *path, char runtime[RUNTIME_MAX + 1])
{
    size_t length = 0;
    for (; length < path->size && length < RUNTIME_MAX && path->at[length]; length++) {
        const unsigned char byte = path->at[length];
        runtime[length] = (char)(byte > 0x20 && byte < 0x7f ? byte : '?');
    }
    runtime[length] = '\0';
    if (is_systems(runtime)) {
        runtime[0] = '\0';
    }
}

void own_runtime_sanitizer(const struct bytes *names, char runtime[RUNTIME_MAX + 1])
{
    for (size_t i = 0; i < sizeof sanitizers / sizeof *sanitizers; i++) {
        const size_t length = strlen(sanitizers[i]);
        char marker[RUNTIME_MAX + 1] = ""; // a NUL, which ends the previous name, and then the name
        memcpy(marker + 1, sanitizers[i], length);
        if (names->size && memmem(names->at, names->size, marker, length + 1)) {
            memcpy(runtime, sanitizers[i], length + 1);
            return;
        }
    }
}
