// SPDX-License-Identifier: Apache-2.0
// What can be seen of a job, as bytes.
#ifndef REPRISE_COLLECT_H
#define REPRISE_COLLECT_H

#include <stdbool.h>
#include <stddef.h>

// Initialise with {0}; release with submission_free. `command` and `environment` are borrowed, the rest is owned.
struct submission {
    const char *command;      // "sbatch", "salloc", "srun" or "batch"
    char *const *environment; // NAME=VALUE, NULL at the end
    char *arguments;          // the bytes that `argv` points into
    char **argv;
    size_t argc;
    char *cwd;          // NULL: unknown
    char *script_path;  // NULL: no script that we can read
    char *script_text;  // not ended by a NUL
    size_t script_size; // bytes, at most a few more than SCRIPT_MAX
};

// Of the command that this process is, or that it was started by with its own environment and working directory:
// `process` is "self", or a process id. What cannot be read stays empty. Returns 0, or -1 without memory.
int collect_command(struct submission *submission, const char *command, const char *process, char *const *environment);

// Of an sbatch: the script, if it can be read.
void collect_script(struct submission *submission);

// Of a batch step: the environment, the script that Slurm spooled (NULL: unknown) and the directory of submission.
int collect_batch_step(struct submission *submission, char *const *environment, const char *script);

// The value of `name` in an environment, or NULL.
const char *environment_value(char *const *environment, const char *name);

void submission_free(struct submission *submission);

#endif
