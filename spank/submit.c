// SPDX-License-Identifier: Apache-2.0
#define _GNU_SOURCE
#include "submit.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "ask.h"
#include "collect.h"
#include "decision.h"
#include "options.h"
#include "preload.h"
#include "printable.h"
#include "profile.h"

// Return the name of this command in the protocol; NULL for a command whose jobs the plugin does not handle (scrontab,
// scrun).
static const char *command_name(spank_context_t context)
{
    if (context == S_CTX_LOCAL) {
        return "srun";
    }
    if (strcmp(program_invocation_short_name, "sbatch") == 0) {
        return "sbatch";
    }
    return strcmp(program_invocation_short_name, "salloc") == 0 ? "salloc" : NULL;
}

// True for an srun that runs inside an allocation, or names an allocation with --jobid.
static bool is_step(const char *command, const struct submission *submission)
{
    if (strcmp(command, "srun") != 0) {
        return false;
    }
    static const char jobid[] = "--jobi"; // srun accepts this prefix, which only --jobid has
    for (size_t i = 1; i < submission->argc; i++) {
        if (strncmp(submission->argv[i], jobid, sizeof jobid - 1) == 0) {
            return true;
        }
    }
    return getenv("SLURM_JOB_ID") || getenv("SLURM_JOBID");
}

// Remove from ASAN_OPTIONS the option that allows any order of libraries. The plugin has appended this option to the
// user's own options.
static void forget_order(void)
{
    char *options = getenv(SANITIZER_VARIABLE);
    if (options) {
        preload_file_take_back(SANITIZER_ANY_ORDER, options);
        if (*options == '\0') {
            unsetenv(SANITIZER_VARIABLE);
        }
    }
}

static void forget_library(const struct settings *settings, const char *library)
{
    char *list = library ? getenv(LOADER_VARIABLE) : NULL;
    if (list) {
        preload_take_back(settings->preload_directory, library, list);
        if (*list == '\0') {
            unsetenv(LOADER_VARIABLE);
        }
        forget_order();
    }
}

// Remove the variables that request a profile, and the witness, which is the last library in LD_PRELOAD.
static void forget_profile(spank_t spank, const struct settings *settings)
{
    char *list = getenv(LOADER_VARIABLE);
    if (getenv(PROFILE_WISH)) {
        if (list) {
            preload_file_take_back(settings->witness, list);
            if (*list == '\0') {
                unsetenv(LOADER_VARIABLE);
            }
        }
        forget_order();
        unsetenv(PROFILE_VARIABLE);
        unsetenv(PROFILE_WISH);
    }
    spank_job_control_unsetenv(spank, PROFILE_NAME);
}

// Remove the settings that a job has inherited from the job that it was submitted from. If they stayed, they would look
// like settings that the user chose.
static void forget_inherited(spank_t spank, const struct settings *settings)
{
    struct decision inherited = {0};
    const char *carried = getenv(CARRY_VARIABLE);
    forget_profile(spank, settings);
    if (carried && decision_from_carried(&inherited, carried, strlen(carried)) == 0) {
        for (size_t i = 0; i < inherited.count; i++) {
            const char *value = getenv(inherited.variables[i].name);
            if (value && strcmp(value, inherited.variables[i].value) == 0) {
                unsetenv(inherited.variables[i].name);
            }
        }
        forget_library(settings, decision_value(&inherited, PRELOAD_VARIABLE));
    }
    decision_free(&inherited);
    unsetenv(CARRY_VARIABLE);
    unsetenv(DECISION_VARIABLE);
    spank_job_control_unsetenv(spank, CARRY_NAME);
}

static char *explain(const struct decision *decision, enum client_result result, const struct settings *settings)
{
    char *line = NULL;
    size_t size = 0;
    FILE *out = open_memstream(&line, &size);
    if (!out) {
        return NULL;
    }
    fprintf(out, "%s: ", verdict_word(decision->verdict));
    if (result != CLIENT_OK) {
        for (size_t i = 0; i < settings->matcher.count; i++) {
            fprintf(out, "%s%s", i ? ", " : "", settings->matcher.endpoints[i].text);
        }
        fprintf(out, ": %s; the job runs unchanged", result_words(result));
    } else if (decision->verdict == VERDICT_OFF) {
        fputs("the site has disabled Reprise for everyone or for you; the job runs unchanged", out);
    } else {
        fputs(decision->reason, out);
    }
    if (decision->has_score) {
        fprintf(out, "; score %.2f", decision->score);
    }
    for (size_t i = 0; i < decision->count; i++) {
        fprintf(out, "%s%s=%s", i ? " " : "; set: ", decision->variables[i].name, decision->variables[i].value);
    }
    bool complete = fclose(out) == 0 && line;
    if (!complete) {
        free(line);
        return NULL;
    }
    printable(line);
    return line;
}

// sbatch and salloc pass their job-control environment to the job. srun passes it to prologs only (seen on 22.05.8);
// its tasks get the variables of srun's environment that begin with SLURM_.
static void carry(spank_t spank, spank_context_t context, const char *text)
{
    if (*text && context == S_CTX_LOCAL) {
        setenv(CARRY_VARIABLE, text, 1);
    } else if (*text) {
        spank_job_control_setenv(spank, CARRY_NAME, text, 1);
    }
}

static void carry_wish(spank_t spank, spank_context_t context, bool wished)
{
    if (wished && context == S_CTX_LOCAL) {
        setenv(PROFILE_WISH, "1", 1);
    } else if (wished) {
        spank_job_control_setenv(spank, PROFILE_NAME, "1", 1);
    }
}

// Set the variables of a decision for the shell of salloc. The shell is not a Slurm step, so it gets settings only
// through the environment that it inherits. As for steps, either all variables are set or none.
static void give_to_shell(const struct decision *decision)
{
    bool set[VARIABLES_MAX] = {false};
    bool complete = true;
    if (decision->verdict != VERDICT_APPLY) {
        return;
    }
    for (size_t i = 0; complete && i < decision->count; i++) {
        const struct variable *variable = &decision->variables[i];
        if (!getenv(variable->name)) {
            complete = set[i] = setenv(variable->name, variable->value, 1) == 0;
        }
    }
    if (complete && setenv(DECISION_VARIABLE, decision->id, 1) == 0) {
        return;
    }
    for (size_t i = 0; i < decision->count; i++) {
        if (set[i]) {
            unsetenv(decision->variables[i].name);
        }
    }
}

static const char *slurm_version(spank_t spank)
{
    char *version = NULL;
    return spank_get_item(spank, S_SLURM_VERSION, &version) == ESPANK_SUCCESS && version ? version : "";
}

static enum mode choose_mode(const struct settings *settings, bool excluded, struct submit_words *words)
{
    const char *twin = getenv(OPTION_TWIN);
    bool ignored = false;
    enum mode mode = options_mode(twin, settings->mode, &ignored);
    if (ignored && !excluded &&
        asprintf(&words->warning, OPTION_TWIN "=%.100s is ignored: use " OPTION_VALUES, twin) < 0) {
        words->warning = NULL;
    }
    if (words->warning) {
        printable(words->warning);
    }
    return mode;
}

// Time that submit_prepare took. A slow file system may cause most of it, and it counts toward the deadline.
static nanoseconds prepared_for;

void submit_prepare(spank_context_t context, const struct settings *settings)
{
    const nanoseconds begun = monotonic_now();
    bool ignored = false;
    const bool asks = context == S_CTX_ALLOCATOR && command_name(context) && !settings_exclude(settings, getuid()) &&
                      options_mode(getenv(OPTION_TWIN), settings->mode, &ignored) != MODE_OFF;
    if (asks) {
        client_connect_ahead(&settings->matcher);
    }
    prepared_for = monotonic_now() - begun;
}

void submit(spank_t spank, spank_context_t context, const struct settings *settings, struct submit_words *words)
{
    // Slurm calls this once for each component of a heterogeneous job; the components are one job, with one decision.
    static bool decided;
    static bool wished;
    static char carried[CARRY_MAX + 1]; // kept for later components; no call knows whether it is the last
    if (decided) {
        carry(spank, context, carried);
        carry_wish(spank, context, wished);
        return;
    }
    decided = true;

    const nanoseconds deadline = deadline_in_ms(settings->deadline_ms) - prepared_for;
    const bool excluded = settings_exclude(settings, getuid());
    const char *command = command_name(context);
    struct submission submission = {0};
    struct decision decision = {.verdict = VERDICT_OFF};
    enum client_result result = CLIENT_OK;
    char *text = NULL;
    if (!command || collect_command(&submission, command, "self", environ) || is_step(command, &submission)) {
        goto done;
    }
    forget_inherited(spank, settings);
    enum mode mode = choose_mode(settings, excluded, words);
    if (mode != MODE_OFF && !excluded) {
        collect_script(&submission);
        const struct question question = {
            .submission = &submission, .mode = mode, .slurm_version = slurm_version(spank)};
        result = ask_decision(&settings->matcher, deadline, &question, &decision);
        words->remark = result == CLIENT_NO_CREDENTIAL ? result_words(result) : NULL;
    }
    // A job of sbatch carries every decision, because its batch step asks again if it finds none. Other jobs need a
    // decision only if it has settings to apply.
    if (decision.verdict == VERDICT_APPLY || strcmp(command, "sbatch") == 0) {
        text = decision_to_carried(&decision);
    }
    if (text) {
        memcpy(carried, text, strlen(text) + 1);
    }
    wished = mode == MODE_PROFILE && !excluded;
    carry(spank, context, carried);
    carry_wish(spank, context, wished);
    if (strcmp(command, "salloc") == 0) {
        give_to_shell(&decision);
    }
    if (mode == MODE_EXPLAIN) {
        words->explanation = explain(&decision, result, settings);
    }
done:
    client_close_ahead();
    free(text);
    decision_free(&decision);
    submission_free(&submission);
}
