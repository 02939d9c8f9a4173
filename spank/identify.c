// SPDX-License-Identifier: Apache-2.0
// While this code runs, slurmstepd has the user's privileges but could regain root. The program's file may be crafted
// to break its reader, and its file system may hang. Therefore a child process reads the file after dropping root
// permanently.
#define _GNU_SOURCE
#include "identify.h"

#include <stdlib.h>
#include <unistd.h>

#include "apart.h"
#include "ask.h"
#include "identity.h"
#include "limits.h"
#include "request.h"

struct question_of_program {
    const char *decision;
    const char *path;
};

// Drop root permanently. Returns 0, or -1 if root could be regained.
static int become_user_for_good(void)
{
    const uid_t uid = geteuid();
    const gid_t gid = getegid();
    return uid == 0 || setresgid(gid, gid, gid) || setresuid(uid, uid, uid) || seteuid(0) == 0 ? -1 : 0;
}

static enum client_result read_program(const void *what, char **request, size_t *size)
{
    const struct question_of_program *asked = what;
    struct bounded_file file;
    struct identity identity;
    if (become_user_for_good() || bounded_file_open(&file, asked->path)) {
        return CLIENT_FAILED;
    }
    *request = identity_read(&identity, &file) == 0 ? request_identity(asked->decision, &identity, size) : NULL;
    identity_free(&identity);
    bounded_file_close(&file);
    return *request ? CLIENT_OK : CLIENT_FAILED;
}

void identify(const struct matcher *matcher, nanoseconds deadline, const char *decision, const char *path)
{
    const struct question_of_program asked = {.decision = decision, .path = path};
    const nanoseconds soon = deadline_in_ms(IDENTIFY_MS);
    char *request = NULL;
    size_t size = 0;
    if (geteuid() != 0 && !deadline_passed(deadline) &&
        apart_do(read_program, &asked, REQUEST_MAX, soon < deadline ? soon : deadline, &request, &size) == CLIENT_OK) {
        ask_to_take(matcher, deadline, request, size);
    }
}
