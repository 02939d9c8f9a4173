// SPDX-License-Identifier: Apache-2.0
// libmunge is loaded when it is first needed, because sites whose diod asks for no credentials do not have it.
#include "credential.h"

#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>
#include <sys/types.h>

#define LIBRARY "libmunge.so.2"
#define OF_CREDENTIAL 8 // EMUNGE_BAD_CRED of munge.h; smaller errors say nothing about the credential
#define NO_LIBRARY LIBRARY " cannot be loaded: install munge"

typedef int encode_function(char **text, void *context, const void *data, int bytes);
typedef int decode_function(const char *text, void *context, void **data, int *bytes, uid_t *user, gid_t *group);

struct credential {
    struct work work;
    credential_done *done;
    credential_opened *opened;
    void *own;
    char *given;
    struct opened result; // only `text` and `why` if the credential is made
};

// Return a function of libmunge; NULL if it cannot be loaded now. `*known` keeps it: a thread that loads a library must
// not hold the loader's lock each time that the forwarder forks.
static void *find(_Atomic(void *) *known, const char *function)
{
    if (!*known) {
        void *library = dlopen(LIBRARY, RTLD_NOW | RTLD_LOCAL);
        *known = library ? dlsym(library, function) : NULL;
    }
    return *known;
}

static void make(struct work *work)
{
    struct credential *credential = (struct credential *)work;
    const char *given = credential->given;
    static _Atomic(void *) known;
    encode_function *encode;
    *(void **)&encode = find(&known, "munge_encode");
    if (!encode) {
        credential->result.why = NO_LIBRARY;
    } else if (encode(&credential->result.text, NULL, given, given ? (int)strlen(given) : 0)) {
        credential->result.text = NULL;
        credential->result.why = "munge makes no credential: is munged running?";
    }
}

static void open_given(struct work *work)
{
    struct credential *credential = (struct credential *)work;
    struct opened *result = &credential->result;
    static _Atomic(void *) known;
    void *data = NULL;
    int bytes = 0;
    gid_t group;
    uid_t user = 0;
    int failed = 0;
    decode_function *decode;
    *(void **)&decode = find(&known, "munge_decode");
    if (!decode) {
        result->why = NO_LIBRARY;
    } else if (!(failed = decode(credential->given, NULL, &data, &bytes, &user, &group))) {
        result->text = strndup(data ? data : "", data ? (size_t)bytes : 0);
        result->user = user;
        result->why = result->text ? NULL : "there is no memory";
        result->may_be_valid = !result->text;
    } else if (failed < OF_CREDENTIAL) {
        result->why = "munge opens no credential: is munged running?";
        result->may_be_valid = true;
    } else {
        result->why = "munge refuses its credential: compare clocks and keys";
    }
    free(data);
}

static void done(struct work *work)
{
    struct credential *credential = (struct credential *)work;
    if (credential->opened) {
        credential->opened(credential->own, &credential->result);
    } else {
        credential->done(credential->own, credential->result.text, credential->result.why);
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
