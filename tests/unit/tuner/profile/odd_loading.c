// SPDX-License-Identifier: Apache-2.0
// Looks up symbols while another thread loads and unloads a library.
#define _GNU_SOURCE
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "../../../../accelerators/lookup.h"

enum { TIMES = 20000, SECONDS = 60 };

static _Atomic int is_over, loaded;

static int is_library(const char *path)
{
    return strstr(path, "/libc.so") != NULL;
}

static void *load(void *name)
{
    while (!is_over) {
        void *library = dlopen(name, RTLD_LAZY);
        if (!library)
            exit(2);
        dlclose(library);
        loaded++;
    }
    return NULL;
}

int main(int argc, char **argv)
{
    pthread_t thread;

    alarm(SECONDS);
    if (argc < 2 || pthread_create(&thread, NULL, load, argv[1]))
        return 1;
    for (int i = 0; i < TIMES || loaded < TIMES / 100; i++)
        if (lookup(RTLD_NEXT, "no_such_function"))
            return 3;
    is_over = 1;
    pthread_join(thread, NULL);
    return 0;
}
