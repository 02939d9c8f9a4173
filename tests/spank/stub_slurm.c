// SPDX-License-Identifier: Apache-2.0
// As much of Slurm as the plugin sees: a program that is linked with it, plays the script named by STUB_SCRIPT (a line
// each, see `play`), says what sbatch says, and writes what came of it beside the script (.report): return codes, log
// lines, the environments that the plugin can write. Nothing of its own is open while it plays.
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <slurm/slurm.h>
#include <slurm/spank.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

#include "../../spank/deadline.h"
#include "failing.h"

#define MANY 32768
#define DESCRIPTORS 64   // that are looked at
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
static bool lacking;           // of what a job has: its environment, its arguments, Slurm's version
static char report_text[1 << 23];
static FILE *report;

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

static spank_err_t unset(struct environment *environment, const char *name)
{
    char **entry = find(environment, name);
    if (entry) {
        free(*entry);
        *entry = environment->entries[--environment->count];
    }
    return ESPANK_SUCCESS;
}

spank_err_t spank_unsetenv(spank_t spank, const char *name)
{
    (void)spank;
    return context == S_CTX_REMOTE ? unset(&job, name) : ESPANK_NOT_REMOTE;
}

spank_err_t spank_job_control_setenv(spank_t spank, const char *name, const char *value, int overwrite)
{
    (void)spank;
    return context == S_CTX_REMOTE ? ESPANK_NOT_LOCAL : (spank_err_t)set(&control, name, value, overwrite);
}

spank_err_t spank_job_control_unsetenv(spank_t spank, const char *name)
{
    (void)spank;
    return unset(&control, name);
}

spank_err_t spank_get_item(spank_t spank, spank_item_t item, ...)
{
    (void)spank;
    spank_err_t result = ESPANK_SUCCESS;
    va_list arguments;
    va_start(arguments, item);
    if (lacking && (item == S_SLURM_VERSION || item == S_JOB_ENV || item == S_JOB_ARGV)) {
        result = ESPANK_NOT_AVAIL;
    } else if (item == S_SLURM_VERSION) {
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
        fprintf(report, "log %s ", level);                                                                             \
        vfprintf(report, format, arguments);                                                                           \
        fputc('\n', report);                                                                                           \
        va_end(arguments);                                                                                             \
    }
LOGGER(slurm_error, "error")
LOGGER(slurm_verbose, "verbose")
LOGGER(slurm_spank_log, "user")

static void ignore(int signal)
{
    (void)signal;
}

// Signals every 0.2 ms, of which each interrupts what waits.
static void storm(bool on)
{
    const struct timeval often = {.tv_usec = on ? 200 : 0};
    const struct itimerval timer = {.it_interval = often, .it_value = often};
    const struct sigaction action = {.sa_handler = ignore};
    sigaction(SIGALRM, &action, NULL);
    setitimer(ITIMER_REAL, &timer, NULL);
}

static void call(const char *name)
{
    const bool stormy = getenv("STUB_STORM");
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
            storm(stormy);
            failing_now = true;
            errno = ERRNO_BEFORE;
            int result = hooks[i].hook(NULL, plugstack_count, plugstack);
            bool preserved = errno == ERRNO_BEFORE;
            failing_now = false;
            storm(false);
            fprintf(report, "call %s %d %lld %s\n", name, result, (long long)(monotonic_now() - before) / 1000000,
                    preserved ? "errno-preserved" : "errno-changed");
        }
    }
}

static void choose_context(const char *name)
{
    static const char *const names[] = {"error", "local", "remote", "allocator", "slurmd", "job_script", "unheard-of"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        if (strcmp(name, names[i]) == 0) {
            context = (spank_context_t)i;
        }
    }
}

// What another plugin may do: close descriptors that are not its own, and open something else.
static void replace(char *words)
{
    char *path = NULL;
    int fd = (int)strtol(words, &path, 10);
    int other = strcmp(path, " socket") == 0 ? socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0)
                                             : open(path + 1, O_WRONLY | O_CLOEXEC);
    dup3(other, fd, O_CLOEXEC);
    close(other);
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
    } else if (strcmp(line, "lacking") == 0) {
        lacking = true;
    } else if (strcmp(line, "script") == 0) {
        job_argv[0] = strdup(rest);
    } else if (strcmp(line, "item") == 0) {
        char *value = strchr(rest, ' ');
        unsigned long item = strtoul(rest, NULL, 10);
        items[item] = (uint32_t)strtoul(value, NULL, 10);
        has_item[item] = true;
    } else if (strcmp(line, "option") == 0) {
        fprintf(report, "option %d\n", option.cb(option.val, rest, context == S_CTX_REMOTE));
    } else if (strcmp(line, "replace") == 0) {
        replace(rest);
    } else if (strcmp(line, "close") == 0) {
        fputs(close(atoi(rest)) ? "log stub closed already\n" : "", report);
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

// The file, as text that is to be freed.
static char *read_whole(const char *path)
{
    FILE *file = path ? fopen(path, "re") : NULL;
    char *text = NULL;
    size_t size = 0;
    if (!file) {
        return NULL;
    }
    ssize_t length = getdelim(&text, &size, '\0', file);
    fclose(file);
    return length < 0 ? NULL : text;
}

static uint64_t open_descriptors(void)
{
    uint64_t found = 0;
    for (int fd = 0; fd < DESCRIPTORS; fd++) {
        found |= (uint64_t)(fcntl(fd, F_GETFD) >= 0) << fd;
    }
    return found;
}

static void write_environments(void)
{
    for (size_t i = 0; i < control.count; i++) {
        fprintf(report, "control %s\n", control.entries[i]);
    }
    for (size_t i = 0; i < job.count; i++) {
        fprintf(report, "job %s\n", job.entries[i]);
    }
    for (char **entry = environ; *entry; entry++) {
        fprintf(report, "own %s\n", *entry);
    }
}

static int write_report(const char *script)
{
    char path[4096];
    snprintf(path, sizeof path, "%s.report", script);
    fclose(report);
    FILE *file = fopen(path, "we");
    if (!file) {
        return -1;
    }
    fputs(report_text, file);
    return fclose(file);
}

int main(void)
{
    const char *path = getenv("STUB_SCRIPT");
    snprintf(slurm_version, sizeof slurm_version, "%d.%02d.%d", SLURM_VERSION_MAJOR(SLURM_VERSION_NUMBER),
             SLURM_VERSION_MINOR(SLURM_VERSION_NUMBER), SLURM_VERSION_MICRO(SLURM_VERSION_NUMBER));
    char *script = read_whole(path);
    char *rest = NULL;
    report = fmemopen(report_text, sizeof report_text, "w");
    if (!script || !report) {
        fputs("stub_slurm: STUB_SCRIPT names no script\n", stderr);
        return 2;
    }
    const uint64_t opened = open_descriptors();
    for (char *line = strtok_r(script, "\n", &rest); line; line = strtok_r(NULL, "\n", &rest)) {
        play(line);
    }
    fprintf(report, "descriptors %s\n", open_descriptors() == opened ? "as-before" : "changed");
    fprintf(report, "failing %ld\n", failing_count());
    free(script);
    write_environments();
    release(&control);
    release(&job);
    for (int i = 0; i < plugstack_count; i++) {
        free(plugstack[i]);
    }
    free(job_argv[0]);
    puts("Submitted batch job 1");
    fflush(stdout); // which may be closed
    return write_report(path) ? 2 : 0;
}
