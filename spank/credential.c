// SPDX-License-Identifier: Apache-2.0
#include "credential.h"

#include <limits.h>
#include <munge.h>
#include <stdlib.h>

static munge_ctx_t make_context(const char *munge_socket)
{
    munge_ctx_t context = munge_ctx_create();
    if (context && *munge_socket && munge_ctx_set(context, MUNGE_OPT_SOCKET, munge_socket) != EMUNGE_SUCCESS) {
        munge_ctx_destroy(context);
        return NULL;
    }
    return context;
}

char *credential_make(const char *munge_socket, uid_t reader, const char *bytes, size_t size)
{
    char *credential = NULL;
    munge_ctx_t context = size <= INT_MAX ? make_context(munge_socket) : NULL;
    if (!context) {
        return NULL;
    }
    if (munge_ctx_set(context, MUNGE_OPT_UID_RESTRICTION, reader) != EMUNGE_SUCCESS ||
        munge_encode(&credential, context, bytes, (int)size) != EMUNGE_SUCCESS) {
        free(credential);
        credential = NULL;
    }
    munge_ctx_destroy(context);
    return credential;
}

char *credential_open(const char *munge_socket, const char *credential, size_t *size, uid_t *maker)
{
    void *bytes = NULL;
    int length = 0;
    munge_ctx_t context = make_context(munge_socket);
    if (!context) {
        return NULL;
    }
    // munge_decode returns the bytes even if the credential is expired or replayed.
    if (munge_decode(credential, context, &bytes, &length, maker, NULL) != EMUNGE_SUCCESS || length < 0) {
        free(bytes);
        bytes = NULL;
    }
    munge_ctx_destroy(context);
    *size = bytes ? (size_t)length : 0;
    return bytes;
}
