// SPDX-License-Identifier: Apache-2.0
// Plays a script with the plugin, which is linked with a stub of Slurm. The environment variable STUB_SCRIPT names the
// script, which has one command per line (see `play`). The player prints what sbatch would print, and writes the
// results to a file next to the script (.report): return codes, log lines, and the environments that the plugin can
// change. While the script plays, the player has no file of its own open.
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <slurm/slurm.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

#include "../../spank/deadline.h"
#include "failing.h"
#include "stub_slurm.h"

#define DESCRIPTORS 64   // number of descriptors checked for leaks
#define ERRNO_BEFORE 117 // EUCLEAN, which no call of the plugin sets

static char *plugstack[MANY];
static int plugstack_count;
static char report_text[1 << 23];

static void put(struct environment *environment, const char *entry)
{
    environment->entries[environment->count++] = strdup(entry);
}

static void ignore(int signal)
{
    (void)signal;
}

// Starts or stops a timer that signals every 0.2 ms; each signal interrupts a waiting system call.
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
            fprintf(stub.report, "call %s %d %lld %s\n", name, result, (long long)(monotonic_now() - before) / 1000000,
                    preserved ? "errno-preserved" : "errno-changed");
        }
    }
}

static void choose_context(const char *name)
{
    static const char *const names[] = {"error", "local", "remote", "allocator", "slurmd", "job_script", "unheard-of"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        if (strcmp(name, names[i]) == 0) {
            stub.context = (spank_context_t)i;
        }
    }
}

// Acts like another plugin with a fault: closes a descriptor that it does not own, and opens something else in its
// place.
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
        snprintf(stub.slurm_version, sizeof stub.slurm_version, "%s", rest);
    } else if (strcmp(line, "plugstack") == 0) {
        plugstack[plugstack_count++] = strdup(rest);
    } else if (strcmp(line, "job") == 0) {
        put(&stub.job, rest);
    } else if (strcmp(line, "own") == 0) {
        char *value = strchr(rest, '=');
        *value++ = '\0';
        setenv(rest, value, 1);
    } else if (strcmp(line, "control") == 0) {
        put(&stub.control, rest);
    } else if (strcmp(line, "lacking") == 0) {
        stub.lacking = true;
    } else if (strcmp(line, "script") == 0) {
        stub.job_argv[0] = strdup(rest);
    } else if (strcmp(line, "item") == 0) {
        char *value = strchr(rest, ' ');
        unsigned long item = strtoul(rest, NULL, 10);
        stub.items[item] = (uint32_t)strtoul(value, NULL, 10);
        stub.has_item[item] = true;
    } else if (strcmp(line, "option") == 0) {
        fprintf(stub.report, "option %d\n", stub.option.cb(stub.option.val, rest, stub.context == S_CTX_REMOTE));
    } else if (strcmp(line, "replace") == 0) {
        replace(rest);
    } else if (strcmp(line, "close") == 0) {
        fputs(close(atoi(rest)) ? "log stub closed already\n" : "", stub.report);
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

// Returns the contents of a file as text, which the caller frees.
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
    for (size_t i = 0; i < stub.control.count; i++) {
        fprintf(stub.report, "control %s\n", stub.control.entries[i]);
    }
    for (size_t i = 0; i < stub.job.count; i++) {
        fprintf(stub.report, "job %s\n", stub.job.entries[i]);
    }
    for (char **entry = environ; *entry; entry++) {
        fprintf(stub.report, "own %s\n", *entry);
    }
}

static int write_report(const char *script)
{
    char path[4096];
    snprintf(path, sizeof path, "%s.report", script);
    fclose(stub.report);
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
    snprintf(stub.slurm_version, sizeof stub.slurm_version, "%d.%02d.%d", SLURM_VERSION_MAJOR(SLURM_VERSION_NUMBER),
             SLURM_VERSION_MINOR(SLURM_VERSION_NUMBER), SLURM_VERSION_MICRO(SLURM_VERSION_NUMBER));
    char *script = read_whole(path);
    char *rest = NULL;
    stub.report = fmemopen(report_text, sizeof report_text, "w");
    if (!script || !stub.report) {
        fputs("stub_slurm: STUB_SCRIPT names no script\n", stderr);
        return 2;
    }
    const uint64_t opened = open_descriptors();
    for (char *line = strtok_r(script, "\n", &rest); line; line = strtok_r(NULL, "\n", &rest)) {
        play(line);
    }
    fprintf(stub.report, "descriptors %s\n", open_descriptors() == opened ? "as-before" : "changed");
    fprintf(stub.report, "failing %ld\n", failing_count());
    free(script);
    write_environments();
    release(&stub.control);
    release(&stub.job);
    for (int i = 0; i < plugstack_count; i++) {
        free(plugstack[i]);
    }
    free(stub.job_argv[0]);
    puts("Submitted batch job 1");
    fflush(stdout); // may fail, because a test may close standard output
    return write_report(path) ? 2 : 0;
}
