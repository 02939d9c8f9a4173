// SPDX-License-Identifier: Apache-2.0
// Collects the facts about a submission: its command line, environment and script.
#ifndef REPRISE_COLLECT_H
#define REPRISE_COLLECT_H

#include <stdbool.h>
#include <stddef.h>

// Initialize with {0}; release with submission_free. `command` and `environment` are borrowed, the rest is owned.
struct submission {
    const char *command;      // "sbatch", "salloc", "srun" or "batch"
    char *const *environment; // NAME=VALUE strings, with NULL at the end
    char *arguments;          // the text that `argv` points into
    char **argv;
    size_t argc;
    char *cwd;          // NULL if unknown
    char *script_path;  // NULL if there is no readable script
    char *script_text;  // not NUL-terminated
    size_t script_size; // in bytes; may exceed SCRIPT_MAX by up to 4
};

// Collect the command line and working directory of a command. `process` is "self" if this process is the command. It
// may also be the id of the parent, if the parent is the command and this process has the parent's environment and
// working directory. Facts that cannot be read stay empty. Returns 0, or -1 if memory is short.
int collect_command(struct submission *submission, const char *command, const char *process, char *const *environment);

// Collect the script of an sbatch command, if it can be read.
void collect_script(struct submission *submission);

// Collect the facts of a batch step: its environment, the script that Slurm spooled (NULL if unknown), and the
// directory that the job was submitted from.
int collect_batch_step(struct submission *submission, char *const *environment, const char *script);

// Return the value of `name` in an environment, or NULL.
const char *environment_value(char *const *environment, const char *name);

void submission_free(struct submission *submission);

#endif
