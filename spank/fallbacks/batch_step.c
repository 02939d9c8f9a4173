// SPDX-License-Identifier: Apache-2.0
#define _GNU_SOURCE
#include "batch_step.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define ANCESTORS_MAX 8   // parents to search for slurmstepd, because TaskProlog may call this program through scripts
#define PROC_FILE_MAX 512 // bytes read from a file in /proc

// Read the beginning of a file in /proc; "" if it cannot be read.
static void read_proc(pid_t pid, const char *name, char *text, size_t size)
{
    char path[64];
    snprintf(path, sizeof path, "/proc/%ld/%s", (long)pid, name);
    FILE *file = fopen(path, "re");
    size_t got = file ? fread(text, 1, size - 1, file) : 0;
    text[got] = '\0';
    if (file) {
        fclose(file);
    }
}

static pid_t parent_of(pid_t pid)
{
    char text[PROC_FILE_MAX];
    long parent = 0;
    read_proc(pid, "stat", text, sizeof text);
    const char *after_name = strrchr(text, ')'); // the last one, because the name may contain parentheses
    return after_name && sscanf(after_name, ") %*c %ld", &parent) == 1 ? (pid_t)parent : 0;
}

// The process title of slurmstepd names the step. Variables of the job also name the step, but they are not used,
// because the user can change them.
bool batch_step_is_ours(void)
{
    static const char title[] = "slurmstepd: [";
    char text[PROC_FILE_MAX];
    pid_t pid = getppid();
    for (int i = 0; i < ANCESTORS_MAX && pid > 1; i++, pid = parent_of(pid)) {
        read_proc(pid, "cmdline", text, sizeof text);
        if (strncmp(text, title, sizeof title - 1) == 0) {
            return strstr(text, ".batch]") != NULL;
        }
    }
    return false;
}

static bool number_variable(const char *name, uint32_t *number)
{
    const char *text = getenv(name);
    char *end = NULL;
    unsigned long value = text && *text >= '0' && *text <= '9' ? strtoul(text, &end, 10) : 0;
    if (!end || *end != '\0' || value > UINT32_MAX) {
        return false;
    }
    *number = (uint32_t)value;
    return true;
}

bool batch_step_describe(struct job *job)
{
    *job = (struct job){.uid = getuid()};
    job->in_array = number_variable("SLURM_ARRAY_TASK_ID", &job->array_task);
    job->has_tasks = number_variable("SLURM_NTASKS", &job->tasks) && job->tasks > 0;
    number_variable("SLURM_RESTART_COUNT", &job->restarts);
    job_set_cluster(job, environ);
    return number_variable("SLURM_JOB_ID", &job->id) && number_variable("SLURM_JOB_NUM_NODES", &job->nodes) &&
           job->nodes > 0;
}

// Replace %n in `pattern` by the name of the node; %n has this meaning in slurm.conf.
static char *expand(const char *pattern)
{
    const char *node = getenv("SLURMD_NODENAME");
    const char *place = strstr(pattern, "%n");
    char *path = NULL;
    if (!place) {
        return strdup(pattern);
    }
    return asprintf(&path, "%.*s%s%s", (int)(place - pattern), pattern, node ? node : "", place + 2) < 0 ? NULL : path;
}

char *batch_step_script(const char *spool, const struct job *job)
{
    char *directory = expand(spool);
    char *path = NULL;
    if (directory && asprintf(&path, "%s/job%05u/slurm_script", directory, job->id) < 0) {
        path = NULL;
    }
    free(directory);
    return path;
}
