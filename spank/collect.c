// SPDX-License-Identifier: Apache-2.0
#define _GNU_SOURCE
#include "collect.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "limits.h"
#include "sbatch_options.h"

#define SCRIPT_READ (SCRIPT_MAX + 4) // bytes; room for one more UTF-8 character, to detect longer scripts

// Read at most `limit` bytes from `fd`. Returns the number of bytes read, or -1.
static ssize_t read_up_to(int fd, char *bytes, size_t limit)
{
    size_t size = 0;
    while (size < limit) {
        ssize_t got = read(fd, bytes + size, limit - size);
        if (got == 0) {
            break;
        }
        if (got > 0) {
            size += (size_t)got;
        } else if (errno != EINTR) {
            return -1;
        }
    }
    return (ssize_t)size;
}

static bool is_readable_file(const char *path)
{
    struct stat status;
    return path && access(path, R_OK) == 0 && stat(path, &status) == 0 && S_ISREG(status.st_mode);
}

// Return at most `limit` bytes of a regular file, NUL-terminated; NULL if the file cannot be read. Only regular files
// are opened: opening a pipe would wake its writer, and opening a tape would move the tape. With O_NONBLOCK, open(2)
// does not block if a pipe has replaced the file since the check, or if the file is leased.
static char *read_file(const char *path, size_t limit, size_t *size)
{
    int fd = is_readable_file(path) ? open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY) : -1;
    if (fd < 0) {
        return NULL;
    }
    char *bytes = malloc(limit + 1);
    ssize_t got = bytes ? read_up_to(fd, bytes, limit) : -1;
    close(fd);
    if (got < 0) {
        free(bytes);
        return NULL;
    }
    bytes[got] = '\0';
    *size = (size_t)got;
    return bytes;
}

// Read the command line of a process. If COMMAND_LINE_MAX cuts an argument, this argument and those after it are left
// out. Returns 0, or -1 if memory is short.
static int read_arguments(struct submission *submission, const char *process)
{
    char path[sizeof "/proc//cmdline" + 3 * sizeof(pid_t)];
    size_t size = 0;
    snprintf(path, sizeof path, "/proc/%s/cmdline", process);
    submission->arguments = read_file(path, COMMAND_LINE_MAX, &size);
    if (!submission->arguments) {
        return 0;
    }
    size_t count = 0;
    for (size_t i = 0; i < size; i++) {
        count += submission->arguments[i] == '\0';
    }
    submission->argv = calloc(count + 1, sizeof *submission->argv);
    if (!submission->argv) {
        return -1;
    }
    char *next = submission->arguments;
    for (submission->argc = 0; submission->argc < count; submission->argc++) {
        submission->argv[submission->argc] = next;
        next += strlen(next) + 1;
    }
    return 0;
}

static char *join_path(const char *directory, size_t length, const char *name)
{
    char *path = NULL;
    return asprintf(&path, "%.*s/%s", (int)length, directory, name) < 0 ? NULL : path;
}

// Return the path of `name` in the first directory of the colon-separated list `search` that contains it; NULL if none
// does.
static char *find_on_path(const char *name, const char *search)
{
    while (search && *search) {
        size_t length = strcspn(search, ":");
        char *path = join_path(search, length, name);
        if (length > 0 && is_readable_file(path)) {
            return path;
        }
        free(path);
        search += length + (search[length] == ':');
    }
    return NULL;
}

// Find the script as sbatch does: in the directory of --chdir, then on PATH if the name has no slash, else in the
// working directory. The returned path may be relative, because this process has the working directory of sbatch.
static char *find_script(const char *name, const char *directory, const char *search)
{
    if (name[0] == '/') {
        return strdup(name);
    }
    char *path = join_path(directory, strlen(directory), name);
    if (is_readable_file(path)) {
        return path;
    }
    free(path);
    path = strchr(name, '/') ? NULL : find_on_path(name, search);
    return path ? path : strdup(name);
}

// Read the script at `path`, and take ownership of `path`. If the script cannot be read, the submission has no script.
static void read_script(struct submission *submission, char *path)
{
    char *text = read_file(path, SCRIPT_READ, &submission->script_size);
    if (!text) {
        free(path);
        return;
    }
    submission->script_path = path;
    submission->script_text = text;
}

const char *environment_value(char *const *environment, const char *name)
{
    size_t length = strlen(name);
    for (; environment && *environment; environment++) {
        if (strncmp(*environment, name, length) == 0 && (*environment)[length] == '=') {
            return *environment + length + 1;
        }
    }
    return NULL;
}

int collect_command(struct submission *submission, const char *command, const char *process, char *const *environment)
{
    submission->command = command;
    submission->environment = environment;
    submission->cwd = getcwd(NULL, 0);
    return read_arguments(submission, process);
}

// Return the path of the script that sbatch would run for `word`; `chosen` is the value of --chdir, or NULL.
static char *script_path(const struct submission *submission, const char *word, const char *chosen)
{
    const char *directory = chosen ? chosen : submission->cwd ? submission->cwd : ".";
    return find_script(word, directory, environment_value(submission->environment, "PATH"));
}

// Return whether `word` names a batch script: a file that begins with `#!`. sbatch refuses any other file.
static bool is_script(const void *context, const char *word, const char *directory)
{
    char *path = script_path(context, word, directory);
    size_t size = 0;
    char *start = path ? read_file(path, 2, &size) : NULL;
    const bool is_script = start && size == 2 && memcmp(start, "#!", 2) == 0;
    free(start);
    free(path);
    return is_script;
}

void collect_script(struct submission *submission)
{
    if (strcmp(submission->command, "sbatch") != 0) {
        return;
    }
    const struct script_lookup lookup = {is_script, submission};
    struct sbatch_words words = sbatch_read_words(submission->argc, submission->argv, &lookup);
    if (words.script) {
        read_script(submission, script_path(submission, submission->argv[words.script], words.directory));
    }
}

int collect_batch_step(struct submission *submission, char *const *environment, const char *script)
{
    const char *cwd = environment_value(environment, "SLURM_SUBMIT_DIR");
    submission->command = "batch";
    submission->environment = environment;
    if (cwd && !(submission->cwd = strdup(cwd))) {
        return -1;
    }
    if (script) {
        read_script(submission, strdup(script));
    }
    return 0;
}

void submission_free(struct submission *submission)
{
    free(submission->arguments);
    free(submission->argv);
    free(submission->cwd);
    free(submission->script_path);
    free(submission->script_text);
    *submission = (struct submission){0};
}
