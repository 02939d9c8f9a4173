// SPDX-License-Identifier: Apache-2.0
// libmunge is loaded when it is first needed, because sites with Slurm's auth/slurm do not have it, and Slurm would not
// load a plugin that is linked with a missing library. Only the child process of apart.h runs this code, so Slurm's
// programs never contain the library, nor wait for it.
#include "credential_munge.h"

#include <dlfcn.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define LIBRARY "libmunge.so.2"

// Values from munge.h, which hosts that build the plugin need not have. A test compares them with the header.
#define SUCCESS 0
#define OPT_SOCKET 8
#define OPT_UID_RESTRICTION 9

struct context; // munge_ctx_t points to it

struct library {
    struct context *(*ctx_create)(void);
    void (*ctx_destroy)(struct context *context);
    int (*ctx_get)(struct context *context, int option, ...);
    int (*ctx_set)(struct context *context, int option, ...);
    int (*encode)(char **credential, struct context *context, const void *bytes, int size);
    int (*decode)(const char *credential, struct context *context, void **bytes, int *size, uid_t *uid, gid_t *gid);
};

// Store the address of the function `name` in the function pointer to which `function` points (POSIX allows the
// conversion from void *). Returns false if the library has no such function.
static bool find(void *handle, const char *name, void *function)
{
    void *symbol = dlsym(handle, name);
    memcpy(function, &symbol, sizeof symbol);
    return symbol;
}

// Return the functions of libmunge, or NULL if the library cannot be loaded.
static const struct library *load(void)
{
    static struct library library;
    void *handle = dlopen(LIBRARY, RTLD_NOW | RTLD_LOCAL);
    if (handle && find(handle, "munge_ctx_create", &library.ctx_create) &&
        find(handle, "munge_ctx_destroy", &library.ctx_destroy) && find(handle, "munge_ctx_get", &library.ctx_get) &&
        find(handle, "munge_ctx_set", &library.ctx_set) && find(handle, "munge_encode", &library.encode) &&
        find(handle, "munge_decode", &library.decode)) {
        return &library;
    }
    return NULL;
}

static struct context *make_context(const struct library *munge, const struct credential_settings *settings)
{
    struct context *context = munge ? munge->ctx_create() : NULL;
    if (context && *settings->munge_socket && munge->ctx_set(context, OPT_SOCKET, settings->munge_socket) != SUCCESS) {
        munge->ctx_destroy(context);
        return NULL;
    }
    return context;
}

static bool is_available(const struct credential_settings *settings)
{
    const struct library *munge = load();
    struct context *context = make_context(munge, settings);
    const char *socket = NULL;
    if (!context) {
        return false;
    }
    bool available = munge->ctx_get(context, OPT_SOCKET, &socket) == SUCCESS && socket && access(socket, F_OK) == 0;
    munge->ctx_destroy(context);
    return available;
}

static enum client_result make(const struct credential_settings *settings, uid_t reader, const char *bytes, size_t size,
                               nanoseconds deadline, char **credential)
{
    const struct library *munge = load();
    struct context *context = size <= INT_MAX ? make_context(munge, settings) : NULL;
    enum client_result result = CLIENT_UNTRUSTED;
    (void)deadline; // libmunge has no option for it
    *credential = NULL;
    if (!context) {
        return CLIENT_UNTRUSTED;
    }
    if (munge->ctx_set(context, OPT_UID_RESTRICTION, reader) == SUCCESS &&
        munge->encode(credential, context, bytes, (int)size) == SUCCESS) {
        result = CLIENT_OK;
    } else {
        free(*credential);
        *credential = NULL;
    }
    munge->ctx_destroy(context);
    return result;
}

static enum client_result open_credential(const struct credential_settings *settings, const char *credential,
                                          nanoseconds deadline, char **bytes, size_t *size, uid_t *maker)
{
    const struct library *munge = load();
    struct context *context = make_context(munge, settings);
    void *payload = NULL;
    int length = 0;
    (void)deadline;
    if (!context) {
        return CLIENT_UNTRUSTED;
    }
    // munge_decode returns the bytes even if the credential is expired or replayed.
    if (munge->decode(credential, context, &payload, &length, maker, NULL) != SUCCESS || length < 0) {
        free(payload);
        payload = NULL;
    }
    munge->ctx_destroy(context);
    *bytes = payload;
    *size = payload ? (size_t)length : 0;
    return payload ? CLIENT_OK : CLIENT_UNTRUSTED;
}

const struct credential_method credential_munge = {
    .choice = CREDENTIAL_MUNGE,
    .is_available = is_available,
    .make = make,
    .open = open_credential,
};
