// SPDX-License-Identifier: Apache-2.0
// libmunge is loaded when it is first needed, because sites whose diod asks for no credentials do not have it.
#include "credential.h"

#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>
#include <sys/types.h>

#define LIBRARY "libmunge.so.2"
#define NO_LIBRARY LIBRARY " cannot be loaded: install munge"

typedef int encode_function(char **text, void *context, const void *data, int bytes);
typedef int decode_function(const char *text, void *context, void **data, int *bytes, uid_t *user, gid_t *group);

struct credential {
    struct work work;
    credential_done *done;
    credential_opened *opened;
    void *own;
    char *given;
    char *text; // the result; NULL: none
    uid_t user;
    const char *why;
};

static void *find(const char *function)
{
    void *library = dlopen(LIBRARY, RTLD_NOW | RTLD_LOCAL);
    return library ? dlsym(library, function) : NULL;
}

static void make(struct work *work)
{
    struct credential *credential = (struct credential *)work;
    const char *given = credential->given;
    encode_function *encode;
    *(void **)&encode = find("munge_encode");
    if (!encode) {
        credential->why = NO_LIBRARY;
    } else if (encode(&credential->text, NULL, given, given ? (int)strlen(given) : 0)) {
        credential->text = NULL;
        credential->why = "munge makes no credential: is munged running?";
    }
}

static void open_given(struct work *work)
{
    struct credential *credential = (struct credential *)work;
    void *data = NULL;
    int bytes = 0;
    gid_t group;
    decode_function *decode;
    *(void **)&decode = find("munge_decode");
    if (!decode) {
        credential->why = NO_LIBRARY;
    } else if (decode(credential->given, NULL, &data, &bytes, &credential->user, &group)) {
        credential->why = "munge refuses its credential: compare clocks and keys";
    } else {
        credential->text = strndup(data ? data : "", data ? (size_t)bytes : 0);
        credential->why = credential->text ? NULL : "there is no memory";
    }
    free(data);
}

static void done(struct work *work)
{
    struct credential *credential = (struct credential *)work;
    if (credential->opened) {
        credential->opened(credential->own, credential->text, credential->user, credential->why);
    } else {
        credential->done(credential->own, credential->text, credential->why);
    }
    free(credential->given);
    free(credential);
}

static int begin(struct pool *pool, const struct credential *wanted, const char *given)
{
    struct credential *credential = malloc(sizeof *credential);
    if (!credential) {
        return -1;
    }
    *credential = *wanted;
    credential->given = given ? strdup(given) : NULL;
    if (given && !credential->given) {
        free(credential);
        return -1;
    }
    pool_add(pool, &credential->work);
    return 0;
}

int credential_make(struct pool *pool, const char *text, credential_done *when_done, void *own)
{
    const struct credential wanted = {.work = {.run = make, .done = done}, .done = when_done, .own = own};
    return begin(pool, &wanted, text);
}

int credential_open(struct pool *pool, const char *text, credential_opened *opened, void *own)
{
    const struct credential wanted = {.work = {.run = open_given, .done = done}, .opened = opened, .own = own};
    return begin(pool, &wanted, text);
}
