// SPDX-License-Identifier: Apache-2.0
// libmunge is loaded when it is first needed, because sites whose diod asks for no credentials do not have it.
#include "credential.h"

#include <dlfcn.h>
#include <stdlib.h>

#define LIBRARY "libmunge.so.2"

typedef int encode_function(char **text, void *context, const void *data, int bytes);

struct credential {
    struct work work;
    credential_done *done;
    void *own;
    char *text;
    const char *why;
};

static void run(struct work *work)
{
    struct credential *credential = (struct credential *)work;
    void *library = dlopen(LIBRARY, RTLD_NOW | RTLD_LOCAL);
    void *symbol = library ? dlsym(library, "munge_encode") : NULL;
    if (!symbol) {
        credential->why = LIBRARY " cannot be loaded: install munge";
        return;
    }
    encode_function *encode;
    *(void **)&encode = symbol;
    if (encode(&credential->text, NULL, NULL, 0)) {
        credential->text = NULL;
        credential->why = "munge makes no credential: is munged running?";
    }
}

static void done(struct work *work)
{
    struct credential *credential = (struct credential *)work;
    credential->done(credential->own, credential->text, credential->why);
    free(credential);
}

int credential_make(struct pool *pool, credential_done *when_done, void *own)
{
    struct credential *credential = calloc(1, sizeof *credential);
    if (!credential) {
        return -1;
    }
    *credential = (struct credential){.work = {.run = run, .done = done}, .done = when_done, .own = own};
    pool_add(pool, &credential->work);
    return 0;
}
