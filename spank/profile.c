// SPDX-License-Identifier: Apache-2.0
#define _GNU_SOURCE
#include "profile.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "apart.h"
#include "collect.h"
#include "limits.h"
#include "loading.h"
#include "options.h"
#include "preload.h"
#include "printable.h"

// True if the user wants a profile of this step. The batch step of a job reads the user's variable, OPTION_TWIN, and
// then sets PROFILE_WISH for the other steps of the job. The other steps find PROFILE_WISH, or their srun has the
// option.
static bool is_wanted(spank_t spank, char *const *environment, bool is_batch)
{
    bool ignored = false;
    const char *twin = is_batch ? environment_value(environment, OPTION_TWIN) : NULL;
    const enum mode mode = options_mode(twin, MODE_UNSET, &ignored);
    char word[2];
    return mode == MODE_PROFILE ||
           (mode == MODE_UNSET && spank_getenv(spank, PROFILE_WISH, word, sizeof word) == ESPANK_SUCCESS);
}

// True if the library is a file that only root can write. If other users could write to it, their code would run in
// this user's job.
static bool is_there(const char *library)
{
    struct stat status;
    return stat(library, &status) == 0 && S_ISREG(status.st_mode) && status.st_uid == 0 &&
           (status.st_mode & (S_IWGRP | S_IWOTH)) == 0 && !strpbrk(library, ": ");
}

// Write the path of the profile's directory. It is below the directory that the job was submitted from, which all nodes
// of the job usually share. Each start of a job, such as after a requeue, gets a separate directory.
static int make_path(char path[PATH_MAX], char *const *environment, const struct profiled_step *step)
{
    const char *place = environment_value(environment, "SLURM_SUBMIT_DIR");
    char again[16] = "";
    if (!place || *place != '/') {
        return -1;
    }
    if (step->restarts) {
        snprintf(again, sizeof again, "-r%u", step->restarts);
    }
    return snprintf(path, PATH_MAX, "%s/reprise-profile-%u%s", place, step->job, again) < PATH_MAX ? 0 : -1;
}

// Make the directory. Replies with one byte: 0, or the errno that explains why the directory cannot be used.
static enum client_result make_directory(const void *what, char **reply, size_t *size)
{
    const char *path = what;
    struct stat status;
    *reply = calloc(1, 1);
    if (!*reply) {
        return CLIENT_FAILED;
    }
    *size = 1;
    if ((mkdir(path, S_IRWXU) && errno != EEXIST) || lstat(path, &status)) {
        **reply = (char)errno;
    } else if (!S_ISDIR(status.st_mode) || status.st_uid != geteuid()) {
        **reply = EEXIST;
    }
    return CLIENT_OK;
}

// Make the directory in a child process, so that a file system that hangs does not delay the job. Returns NULL, or the
// reason why there is no directory.
static const char *make_directory_in_time(const char *path)
{
    char *reply = NULL;
    size_t size = 0;
    int error = 0;
    switch (apart_do(make_directory, path, 1, deadline_in_ms(PROFILE_MS), &reply, &size)) {
    case CLIENT_OK:
        error = (unsigned char)*reply;
        free(reply);
        return error ? strerror(error) : NULL;
    case CLIENT_LATE:
        return "its file system does not answer in time";
    default:
        return "cannot start a process to create it";
    }
}

static char *problem(const char *what, const char *why)
{
    char *line = NULL;
    if (asprintf(&line, "no profile is taken: %s: %s", what, why) < 0) {
        return NULL;
    }
    printable(line);
    return line;
}

// Append the library to LD_PRELOAD. Returns 0, or -1 if the variable could not be changed.
static int load(spank_t spank, const char *library, char *const *environment)
{
    char *list = NULL;
    int result = preload_file_added(library, environment_value(environment, LOADER_VARIABLE), &list);
    if (list && spank_setenv(spank, LOADER_VARIABLE, list, 1) != ESPANK_SUCCESS) {
        result = -1;
    }
    free(list);
    return result;
}

// Remove the library from LD_PRELOAD on a node that lacks the library although the first node has it. If the library
// stayed in the list, the loader would print an error in every program.
static void leave_out(spank_t spank, const char *library, char *const *environment)
{
    char *list = NULL;
    preload_file_left_out(library, environment_value(environment, LOADER_VARIABLE), &list);
    if (list) {
        spank_setenv(spank, LOADER_VARIABLE, list, 1);
    }
    free(list);
}

// Set up the profile of a step. Reports go to the directory in PROFILE_VARIABLE, or else to a new directory. Returns a
// line for the user if there is a problem, or else NULL. The caller must free the line.
static char *set_up(spank_t spank, const struct settings *settings, const struct profiled_step *step,
                    char *const *environment)
{
    char path[PATH_MAX];
    const bool has_directory = environment_value(environment, PROFILE_VARIABLE);
    if (!is_there(settings->witness)) {
        leave_out(spank, settings->witness, environment);
        return has_directory ? NULL
                             : problem(settings->witness, "is missing, or users other than root can write to it; ask "
                                                          "the site's support to run `make install-tools`");
    }
    if (!has_directory && make_path(path, environment, step)) {
        return problem("SLURM_SUBMIT_DIR", "is unset or not an absolute path");
    }
    const char *why = has_directory ? NULL : make_directory_in_time(path);
    if (why) {
        return problem(path, why);
    }
    if (loading_allow_order(spank, environment) || load(spank, settings->witness, environment) ||
        (!has_directory && spank_setenv(spank, PROFILE_VARIABLE, path, 1) != ESPANK_SUCCESS) ||
        spank_setenv(spank, PROFILE_WISH, "1", 1) != ESPANK_SUCCESS) {
        return problem(PROFILE_VARIABLE, "cannot be set");
    }
    return NULL;
}

char *profile_start(spank_t spank, const struct settings *settings, const struct profiled_step *step)
{
    char **environment = NULL;
    if (spank_get_item(spank, S_JOB_ENV, &environment) != ESPANK_SUCCESS ||
        !is_wanted(spank, environment, step->is_batch)) {
        return NULL;
    }
    char *line = set_up(spank, settings, step, environment);
    if (line && step->is_batch) { // otherwise each step of the job would try again and report the problem again
        spank_unsetenv(spank, PROFILE_WISH);
    }
    if (line && !step->is_first) {
        free(line);
        line = NULL;
    }
    return line;
}
