// SPDX-License-Identifier: Apache-2.0
// Asks the matcher on clusters where Slurm does not load the plugin.
//   reprise-ask start [ARGUMENT...]   in a TaskProlog: prints the variables to set for a batch script, as
//                                     `export NAME=value`
//   reprise-ask srun [ARGUMENT...]    in a cli_filter, as a child of srun: prints `,NAME=value,...` to append to
//                                     --export=ALL
// Arguments are those of the plugstack line, and spool=DIRECTORY, which is SlurmdSpoolDir in slurm.conf. The program
// prints nothing if anything is wrong. It always exits with 0, because any other status of a TaskProlog fails the job.
#define _GNU_SOURCE
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "../ask.h"
#include "../preload.h"
#include "../settings.h"
#include "batch_step.h"

struct call {
    struct settings settings;
    const char *spool;
    nanoseconds deadline;
    enum mode mode;
};

// Ignore invalid arguments, because nobody would see a message about them here.
static void pass_over(const char *problem)
{
    (void)problem;
}

static int read_call(struct call *call, int argc, char **argv)
{
    int count = 0;
    call->spool = "/var/spool/slurmd";
    for (int i = 0; i < argc; i++) {
        if (strncmp(argv[i], "spool=", 6) == 0) {
            call->spool = argv[i] + 6;
        } else {
            argv[count++] = argv[i];
        }
    }
    settings_read(&call->settings, count, argv, pass_over);
    enum mode chosen = mode_from_word(getenv(OPTION_TWIN));
    call->mode = chosen != MODE_UNSET ? chosen : call->settings.mode;
    call->deadline = deadline_in_ms(call->settings.deadline_ms);
    return call->mode == MODE_OFF || settings_exclude(&call->settings, getuid()) ? -1 : 0;
}

static void ask(const struct call *call, const struct submission *submission, const struct job *job,
                struct decision *decision)
{
    const struct question question = {.submission = submission, .mode = call->mode, .slurm_version = "", .job = job};
    if (ask_decision(&call->settings.matcher, call->deadline, &question, decision) != CLIENT_OK) {
        decision->verdict = VERDICT_UNREACHABLE;
    }
}

// Print all variables or none, because a part of the settings may be worse than none.
static void print_variables(const struct call *call, const struct decision *decision, const char *before,
                            const char *after, const char *forbidden)
{
    char *text = NULL;
    size_t size = 0;
    FILE *out = decision->verdict == VERDICT_APPLY ? open_memstream(&text, &size) : NULL;
    if (!out) {
        return;
    }
    bool whole = true;
    for (size_t i = 0; i < decision->count; i++) {
        const struct variable *variable = &decision->variables[i];
        whole = whole && !strpbrk(variable->value, forbidden);
        if (!getenv(variable->name)) {
            fprintf(out, "%s%s=%s%s", before, variable->name, variable->value, after);
        }
    }
    const char *library = getenv(PRELOAD_VARIABLE) ? NULL : decision_value(decision, PRELOAD_VARIABLE);
    char *list = NULL, *options = NULL;
    whole = whole &&
            (!library || preload_added(call->settings.preload_directory, library, getenv(LOADER_VARIABLE), &list) == 0);
    whole = whole && (!list || preload_order_allowed(getenv(SANITIZER_VARIABLE), &options) == 0);
    if (list) {
        whole = whole && !strpbrk(list, forbidden);
        fprintf(out, "%s" LOADER_VARIABLE "=%s%s", before, list, after);
    }
    if (options) {
        whole = whole && !strpbrk(options, forbidden);
        fprintf(out, "%s" SANITIZER_VARIABLE "=%s%s", before, options, after);
    }
    free(list);
    free(options);
    fprintf(out, "%s" DECISION_VARIABLE "=%s%s", before, decision->id, after);
    if (fclose(out) == 0 && whole) {
        fwrite(text, 1, size, stdout);
    }
    free(text);
}

static void start(const struct call *call)
{
    struct submission submission = {0};
    struct decision decision = {0};
    struct job job;
    if (!batch_step_is_ours() || !batch_step_describe(&job)) {
        return;
    }
    char *script = batch_step_script(call->spool, &job);
    if (collect_batch_step(&submission, environ, script) == 0) {
        ask(call, &submission, &job, &decision);
        if (decision_unreadable(&decision, call->settings.preload_directory) == 0) {
            print_variables(call, &decision, "export ", "\n", "\n");
        }
    }
    free(script);
    decision_free(&decision);
    submission_free(&submission);
}

static void submit_srun(const struct call *call)
{
    char parent[24];
    struct submission submission = {0};
    struct decision decision = {0};
    snprintf(parent, sizeof parent, "%ld", (long)getppid());
    if (collect_command(&submission, "srun", parent, environ) == 0) {
        ask(call, &submission, NULL, &decision);
        print_variables(call, &decision, ",", "", ",\"'"); // characters with a special meaning in srun's --export
    }
    decision_free(&decision);
    submission_free(&submission);
}

int main(int argc, char **argv)
{
    struct call call;
    if (argc >= 2 && read_call(&call, argc - 2, argv + 2) == 0) {
        if (strcmp(argv[1], "start") == 0) {
            start(&call);
        } else if (strcmp(argv[1], "srun") == 0) {
            submit_srun(&call);
        }
    }
    return 0;
}
