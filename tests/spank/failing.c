// SPDX-License-Identifier: Apache-2.0
// Makes calls of a library function fail while a hook runs. These environment variables select the calls: FAIL_CALL is
// the name of the function, FAIL_AT the number of the call that fails; if FAIL_AFTER is set, all later calls fail, too.
// FAIL_ERRNO is the error. With FAIL_DELAY_MS, the call is delayed and does not fail. If compiled with
// -DFAIL_ALLOCATIONS, allocations fail instead, including those of libraries; FAIL_BUDGET then limits the total number
// of bytes allocated. At the end, the player prints how many calls could have failed, as `failing COUNT`.
#define _GNU_SOURCE
#undef dlopen // renamed in the sources of the plugin
#undef dlsym
#include "failing.h"

#include <dlfcn.h>
#include <errno.h>
#include <malloc.h>
#include <netdb.h>
#include <poll.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

bool failing_now;
static const char *fail_call;
static int fail_errno;
static long fail_at;
static bool fail_after;
static int fail_delay_ms;
static long calls;

__attribute__((constructor)) static void read_settings(void)
{
    const char *at = getenv("FAIL_AT");
    const char *error = getenv("FAIL_ERRNO");
    fail_call = getenv("FAIL_CALL");
    fail_at = at ? strtol(at, NULL, 10) : 0;
    fail_errno = error ? (int)strtol(error, NULL, 10) : EIO;
    fail_after = getenv("FAIL_AFTER");
    fail_delay_ms = getenv("FAIL_DELAY_MS") ? (int)strtol(getenv("FAIL_DELAY_MS"), NULL, 10) : 0;
}

static bool counts(void)
{
    if (!failing_now || fail_at == 0) {
        return false;
    }
    calls++;
    return fail_after ? calls >= fail_at : calls == fail_at;
}

long failing_count(void)
{
    return calls;
}

#ifdef FAIL_ALLOCATIONS
struct json_object;
struct json_tokener;
extern void *__libc_malloc(size_t size);
extern void *__libc_calloc(size_t count, size_t size);
extern void *__libc_realloc(void *old, size_t size);

extern void __libc_free(void *memory);
static size_t budget = SIZE_MAX;
static size_t spent;

static bool fails(size_t size)
{
    return counts() || (failing_now && size > budget - spent);
}

static void *spend(void *memory)
{
    if (failing_now && memory && budget != SIZE_MAX) {
        size_t size = malloc_usable_size(memory);
        spent += size < budget - spent ? size : budget - spent;
    }
    return memory;
}

static void regain(void *memory)
{
    if (failing_now && memory) {
        size_t size = malloc_usable_size(memory);
        spent -= size < spent ? size : spent;
    }
}

void *malloc(size_t size)
{
    return fails(size) ? NULL : spend(__libc_malloc(size));
}

void *calloc(size_t count, size_t size)
{
    return fails(count * size) ? NULL : spend(__libc_calloc(count, size));
}

void *realloc(void *old, size_t size)
{
    if (fails(size)) {
        return NULL;
    }
    regain(old);
    return spend(__libc_realloc(old, size));
}

void free(void *memory)
{
    regain(memory);
    __libc_free(memory);
}

__attribute__((constructor)) static void read_budget(void)
{
    const char *bytes = getenv("FAIL_BUDGET");
    budget = bytes ? strtoul(bytes, NULL, 10) : SIZE_MAX;
}

// In json-c 0.16, json_tokener_parse_ex crashes if a single allocation fails, because it does not check strdup(3). The
// allocations of json_tokener_parse_ex therefore fail only if FAIL_BUDGET is set. Linked with --wrap.
struct json_object *__real_json_tokener_parse_ex(struct json_tokener *tokener, const char *text, int size);
struct json_object *__wrap_json_tokener_parse_ex(struct json_tokener *tokener, const char *text, int size)
{
    bool before = failing_now;
    failing_now = before && budget != SIZE_MAX;
    struct json_object *value = __real_json_tokener_parse_ex(tokener, text, size);
    failing_now = before;
    return value;
}
#else
static bool fails(const char *name)
{
    if (!fail_call || strcmp(name, fail_call) != 0 || !counts()) {
        return false;
    }
    if (fail_delay_ms > 0) {
        usleep((useconds_t)fail_delay_ms * 1000);
        return false;
    }
    errno = fail_errno;
    return true;
}

// Defines the wrapper of a function; linked with --wrap=NAME for each function below.
#define FAILING(type, name, failed, parameters, arguments)                                                             \
    type __real_##name parameters;                                                                                     \
    type __wrap_##name parameters;                                                                                     \
    type __wrap_##name parameters                                                                                      \
    {                                                                                                                  \
        return fails(#name) ? failed : __real_##name arguments;                                                        \
    }

FAILING(void *, malloc, NULL, (size_t size), (size))
FAILING(void *, calloc, NULL, (size_t count, size_t size), (count, size))
FAILING(char *, strdup, NULL, (const char *text), (text))
FAILING(char *, getcwd, NULL, (char *path, size_t size), (path, size))
FAILING(FILE *, open_memstream, NULL, (char **text, size_t *size), (text, size))
FAILING(int, fclose, __real_fclose(file) | EOF, (FILE * file), (file)) // closes the file, as a failing fclose does
FAILING(int, setenv, -1, (const char *name, const char *value, int overwrite), (name, value, overwrite))
FAILING(int, access, -1, (const char *path, int mode), (path, mode))
FAILING(int, stat, -1, (const char *path, struct stat *status), (path, status))
FAILING(int, lstat, -1, (const char *path, struct stat *status), (path, status))
FAILING(int, mkdir, -1, (const char *path, mode_t mode), (path, mode))
FAILING(int, fstat, -1, (int fd, struct stat *status), (fd, status))
FAILING(int, open, -1, (const char *path, int flags, mode_t mode), (path, flags, mode))
FAILING(ssize_t, read, -1, (int fd, void *bytes, size_t size), (fd, bytes, size))
FAILING(ssize_t, pread, -1, (int fd, void *bytes, size_t size, off_t start), (fd, bytes, size, start))
FAILING(int, setresuid, -1, (uid_t real, uid_t effective, uid_t saved), (real, effective, saved))
FAILING(int, setresgid, -1, (gid_t real, gid_t effective, gid_t saved), (real, effective, saved))
FAILING(int, fcntl, -1, (int fd, int command, long argument), (fd, command, argument))
FAILING(int, socket, -1, (int domain, int type, int protocol), (domain, type, protocol))
FAILING(int, socketpair, -1, (int domain, int type, int protocol, int *ends), (domain, type, protocol, ends))
FAILING(int, connect, -1, (int fd, const struct sockaddr *to, socklen_t size), (fd, to, size))
FAILING(int, poll, -1, (struct pollfd * fds, nfds_t count, int ms), (fds, count, ms))
FAILING(int, ppoll, -1, (struct pollfd * fds, nfds_t count, const struct timespec *left, const __sigset_t *blocked),
        (fds, count, left, blocked))
FAILING(ssize_t, sendmsg, -1, (int fd, const struct msghdr *message, int flags), (fd, message, flags))
FAILING(ssize_t, recv, -1, (int fd, void *bytes, size_t size, int flags), (fd, bytes, size, flags))
FAILING(pid_t, fork, -1, (void), ())
FAILING(pid_t, waitpid, -1, (pid_t child, int *status, int options), (child, status, options))
FAILING(ssize_t, getrandom, -1, (void *bytes, size_t size, unsigned int flags), (bytes, size, flags))
FAILING(uid_t, getuid, 65534, (void), ())
FAILING(int, getaddrinfo, EAI_AGAIN,
        (const char *host, const char *port, const struct addrinfo *wanted, struct addrinfo **found),
        (host, port, wanted, found))

// The functions of libmunge, which the plugin looks up with dlsym(3).
static void *(*munge_ctx_create)(void);
static int (*munge_ctx_get)(void *context, int option, void *value);
static int (*munge_ctx_set)(void *context, int option, long value);

static void *failing_ctx_create(void)
{
    return fails("munge_ctx_create") ? NULL : munge_ctx_create();
}

static int failing_ctx_get(void *context, int option, void *value)
{
    return fails("munge_ctx_get") ? 1 : munge_ctx_get(context, option, value);
}

static int failing_ctx_set(void *context, int option, long value)
{
    return fails("munge_ctx_set") ? 1 : munge_ctx_set(context, option, value);
}

void *failing_dlopen(const char *name, int flags);
void *failing_dlopen(const char *name, int flags)
{
    return fails("dlopen") ? NULL : dlopen(name, flags);
}

void *failing_dlsym(void *handle, const char *name);
void *failing_dlsym(void *handle, const char *name)
{
    const struct {
        const char *name;
        void *real;
        void *failing;
    } wrapped[] = {
        {"munge_ctx_create", &munge_ctx_create, (void *)failing_ctx_create},
        {"munge_ctx_get", &munge_ctx_get, (void *)failing_ctx_get},
        {"munge_ctx_set", &munge_ctx_set, (void *)failing_ctx_set},
    };
    void *found = fails("dlsym") ? NULL : dlsym(handle, name);
    for (size_t i = 0; found && i < sizeof wrapped / sizeof *wrapped; i++) {
        if (strcmp(name, wrapped[i].name) == 0) {
            memcpy(wrapped[i].real, &found, sizeof found);
            return wrapped[i].failing;
        }
    }
    return found;
}

int __wrap_asprintf(char **text, const char *format, ...);
int __wrap_asprintf(char **text, const char *format, ...)
{
    va_list arguments;
    if (fails("asprintf")) {
        return -1;
    }
    va_start(arguments, format);
    int length = vasprintf(text, format, arguments);
    va_end(arguments);
    return length;
}
#endif

#if defined COUNT_BRANCHES || !defined FAIL_ALLOCATIONS
#ifdef COUNT_BRANCHES
void __gcov_dump(void);
#endif
_Noreturn void __real__exit(int status);
_Noreturn void __wrap__exit(int status);
_Noreturn void __wrap__exit(int status)
{
#ifndef FAIL_ALLOCATIONS
    fails("_exit"); // _exit cannot fail, but it can be delayed
#endif
#ifdef COUNT_BRANCHES // also counts branches in a child that ends with _exit(2)
    failing_now = false;
    __gcov_dump();
#endif
    __real__exit(status);
}
#endif
