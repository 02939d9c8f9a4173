// SPDX-License-Identifier: Apache-2.0
// As much of Slurm as the plugin sees: a program that is linked with it, plays the script named by STUB_SCRIPT (a line
// each, see `play`) and prints what came of it: return codes, log lines and the environments that the plugin can write.
#define _GNU_SOURCE
#include <errno.h>
#include <json-c/json.h>
#include <slurm/slurm.h>
#include <slurm/spank.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "../../spank/deadline.h"

#ifdef FAIL_ALLOCATIONS
// The allocation number FAIL_AT that a hook makes fails, and all after it too if FAIL_AFTER is set.
extern void *__libc_malloc(size_t size);
extern void *__libc_calloc(size_t count, size_t size);
extern void *__libc_realloc(void *old, size_t size);
static long fail_at;
static long allocations;
static bool fail_after;
static bool in_hook;

static bool fails(void)
{
    if (!in_hook) {
        return false;
    }
    allocations++;
    return fail_after ? allocations >= fail_at : allocations == fail_at;
}

void *malloc(size_t size)
{
    return fails() ? NULL : __libc_malloc(size);
}

void *calloc(size_t count, size_t size)
{
    return fails() ? NULL : __libc_calloc(count, size);
}

void *realloc(void *old, size_t size)
{
    return fails() ? NULL : __libc_realloc(old, size);
}

// json-c 0.16 itself does not survive this: json_tokener_parse_ex passes an unchecked strdup(3) on. Linked with --wrap.
struct json_object *__real_json_tokener_parse_ex(struct json_tokener *tokener, const char *text, int size);
struct json_object *__wrap_json_tokener_parse_ex(struct json_tokener *tokener, const char *text, int size)
{
    bool was_in_hook = in_hook;
    in_hook = false;
    struct json_object *value = __real_json_tokener_parse_ex(tokener, text, size);
    in_hook = was_in_hook;
    return value;
}
#endif

#define MANY 256
#define ERRNO_BEFORE 117 // an errno that no call of the plugin sets: EUCLEAN

struct environment {
    char *entries[MANY];
    size_t count;
};

static spank_context_t context;
static struct environment job = {0}, control = {0};
static char *plugstack[MANY];
static int plugstack_count;
static struct spank_option option;
static uint32_t items[S_JOB_ARRAY_TASK_ID + 1];
static bool has_item[S_JOB_ARRAY_TASK_ID + 1];
static char *job_argv[] = {NULL, NULL};
static char slurm_version[32]; // the headers' own, unless the script says another

static char **find(struct environment *environment, const char *name)
{
    size_t length = strlen(name);
    for (size_t i = 0; i < environment->count; i++) {
        if (strncmp(environment->entries[i], name, length) == 0 && environment->entries[i][length] == '=') {
            return &environment->entries[i];
        }
    }
    return NULL;
}

static int set(struct environment *environment, const char *name, const char *value, int overwrite)
{
    char **entry = find(environment, name);
    char *text = NULL;
    if (entry && !overwrite) {
        return ESPANK_ENV_EXISTS;
    }
    if (asprintf(&text, "%s=%s", name, value) < 0) {
        return ESPANK_ERROR;
    }
    if (entry) {
        free(*entry);
    } else {
        entry = &environment->entries[environment->count++];
    }
    *entry = text;
    return ESPANK_SUCCESS;
}

static void put(struct environment *environment, const char *entry)
{
    environment->entries[environment->count++] = strdup(entry);
}

spank_context_t spank_context(void)
{
    return context;
}

spank_err_t spank_option_register(spank_t spank, struct spank_option *registered)
{
    (void)spank;
    option = *registered;
    return ESPANK_SUCCESS;
}

spank_err_t spank_getenv(spank_t spank, const char *name, char *buffer, int size)
{
    (void)spank;
    char **entry = find(&job, name);
    if (context != S_CTX_REMOTE || !entry) {
        return context != S_CTX_REMOTE ? ESPANK_NOT_REMOTE : ESPANK_ENV_NOEXIST;
    }
    int length = snprintf(buffer, (size_t)size, "%s", *entry + strlen(name) + 1);
    return length < size ? ESPANK_SUCCESS : ESPANK_NOSPACE;
}

spank_err_t spank_setenv(spank_t spank, const char *name, const char *value, int overwrite)
{
    (void)spank;
    return context == S_CTX_REMOTE ? (spank_err_t)set(&job, name, value, overwrite) : ESPANK_NOT_REMOTE;
}

spank_err_t spank_job_control_setenv(spank_t spank, const char *name, const char *value, int overwrite)
{
    (void)spank;
    return context == S_CTX_REMOTE ? ESPANK_NOT_LOCAL : (spank_err_t)set(&control, name, value, overwrite);
}

spank_err_t spank_job_control_unsetenv(spank_t spank, const char *name)
{
    (void)spank;
    char **entry = find(&control, name);
    if (entry) {
        free(*entry);
        *entry = control.entries[--control.count];
    }
    return ESPANK_SUCCESS;
}

spank_err_t spank_get_item(spank_t spank, spank_item_t item, ...)
{
    (void)spank;
    spank_err_t result = ESPANK_SUCCESS;
    va_list arguments;
    va_start(arguments, item);
    if (item == S_SLURM_VERSION) {
        *va_arg(arguments, const char **) = slurm_version;
    } else if (context != S_CTX_REMOTE) {
        result = ESPANK_NOT_AVAIL;
    } else if (item == S_JOB_ENV) {
        job.entries[job.count] = NULL;
        *va_arg(arguments, char ***) = job.entries;
    } else if (item == S_JOB_ARGV) {
        *va_arg(arguments, int *) = job_argv[0] ? 1 : 0;
        *va_arg(arguments, char ***) = job_argv;
    } else if (has_item[item]) {
        *va_arg(arguments, uint32_t *) = items[item];
    } else {
        result = ESPANK_NOT_AVAIL;
    }
    va_end(arguments);
    return result;
}

#define LOGGER(name, level)                                                                                            \
    void name(const char *format, ...)                                                                                 \
    {                                                                                                                  \
        va_list arguments;                                                                                             \
        va_start(arguments, format);                                                                                   \
        printf("log %s ", level);                                                                                      \
        vprintf(format, arguments);                                                                                    \
        putchar('\n');                                                                                                 \
        va_end(arguments);                                                                                             \
    }
LOGGER(slurm_error, "error")
LOGGER(slurm_verbose, "verbose")
LOGGER(slurm_spank_log, "user")

static void call(const char *name)
{
    static const struct {
        const char *name;
        spank_f *hook;
    } hooks[] = {
        {"init", slurm_spank_init},
        {"init_post_opt", slurm_spank_init_post_opt},
        {"user_init", slurm_spank_user_init},
        {"task_exit", slurm_spank_task_exit},
    };
    for (size_t i = 0; i < sizeof hooks / sizeof *hooks; i++) {
        if (strcmp(name, hooks[i].name) == 0) {
            nanoseconds before = monotonic_now();
#ifdef FAIL_ALLOCATIONS
            in_hook = true;
#endif
            errno = ERRNO_BEFORE;
            int result = hooks[i].hook(NULL, plugstack_count, plugstack);
            bool preserved = errno == ERRNO_BEFORE;
#ifdef FAIL_ALLOCATIONS
            in_hook = false;
#endif
            printf("call %s %d %lld %s\n", name, result, (long long)(monotonic_now() - before) / 1000000,
                   preserved ? "errno-preserved" : "errno-changed");
        }
    }
}

static void choose_context(const char *name)
{
    static const char *const names[] = {"error", "local", "remote", "allocator", "slurmd", "job_script"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        if (strcmp(name, names[i]) == 0) {
            context = (spank_context_t)i;
        }
    }
}

static void play(char *line)
{
    char *rest = strchr(line, ' ');
    if (!rest) {
        return;
    }
    *rest++ = '\0';
    if (strcmp(line, "context") == 0) {
        choose_context(rest);
    } else if (strcmp(line, "slurm") == 0) {
        snprintf(slurm_version, sizeof slurm_version, "%s", rest);
    } else if (strcmp(line, "plugstack") == 0) {
        plugstack[plugstack_count++] = strdup(rest);
    } else if (strcmp(line, "job") == 0) {
        put(&job, rest);
    } else if (strcmp(line, "control") == 0) {
        put(&control, rest);
    } else if (strcmp(line, "script") == 0) {
        job_argv[0] = strdup(rest);
    } else if (strcmp(line, "item") == 0) {
        char *value = strchr(rest, ' ');
        unsigned long item = strtoul(rest, NULL, 10);
        items[item] = (uint32_t)strtoul(value, NULL, 10);
        has_item[item] = true;
    } else if (strcmp(line, "option") == 0) {
        printf("option %d\n", option.cb(option.val, rest, context == S_CTX_REMOTE));
    } else if (strcmp(line, "call") == 0) {
        call(rest);
    }
}

static void release(struct environment *environment)
{
    for (size_t i = 0; i < environment->count; i++) {
        free(environment->entries[i]);
    }
}

int main(void)
{
    const char *path = getenv("STUB_SCRIPT");
    FILE *script = path ? fopen(path, "re") : NULL;
    char *line = NULL;
    size_t size = 0;
    static char out[1 << 16]; // so that printing allocates nothing
    setvbuf(stdout, out, _IOFBF, sizeof out);
#ifdef FAIL_ALLOCATIONS
    fail_at = strtol(getenv("FAIL_AT"), NULL, 10);
    fail_after = getenv("FAIL_AFTER");
#endif
    snprintf(slurm_version, sizeof slurm_version, "%d.%02d.%d", SLURM_VERSION_MAJOR(SLURM_VERSION_NUMBER),
             SLURM_VERSION_MINOR(SLURM_VERSION_NUMBER), SLURM_VERSION_MICRO(SLURM_VERSION_NUMBER));
    if (!script) {
        fputs("stub_slurm: STUB_SCRIPT names no script\n", stderr);
        return 2;
    }
    while (getline(&line, &size, script) >= 0) {
        line[strcspn(line, "\n")] = '\0';
        play(line);
    }
    free(line);
    fclose(script);
    for (size_t i = 0; i < control.count; i++) {
        printf("control %s\n", control.entries[i]);
    }
    for (size_t i = 0; i < job.count; i++) {
        printf("job %s\n", job.entries[i]);
    }
    for (char **entry = environ; *entry; entry++) {
        printf("own %s\n", *entry);
    }
#ifdef FAIL_ALLOCATIONS
    printf("allocations %ld\n", allocations);
#endif
    release(&control);
    release(&job);
    for (int i = 0; i < plugstack_count; i++) {
        free(plugstack[i]);
    }
    free(job_argv[0]);
    return 0;
}
