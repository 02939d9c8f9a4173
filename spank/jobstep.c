// SPDX-License-Identifier: Apache-2.0
#include "jobstep.h"

#include <slurm/slurm.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "ask.h"
#include "collect.h"
#include "decision.h"
#include "identify.h"
#include "loading.h"
#include "options.h"
#include "preload.h"
#include "profile.h"

// State of the batch step between its start and its end. One variable is enough, because each slurmstepd process runs
// only one step.
static struct {
    bool watched;
    nanoseconds started;
    enum verdict verdict;
    char decision[DECISION_ID_MAX + 1];
    uint32_t applied;
    uint32_t unreadable;
    struct job job;
} report;

static uint32_t number_item(spank_t spank, spank_item_t item, uint32_t otherwise)
{
    uint32_t number = 0;
    return spank_get_item(spank, item, &number) == ESPANK_SUCCESS ? number : otherwise;
}

// Read a positive count from the job's environment. Slurm's variables in this environment describe the whole job, while
// the SPANK items of a batch step describe one task on one node.
static bool count_variable(char *const *environment, const char *name, uint32_t *count)
{
    const char *text = environment_value(environment, name);
    char *end = NULL;
    unsigned long number = text && *text >= '0' && *text <= '9' ? strtoul(text, &end, 10) : 0;
    if (!end || *end != '\0' || number == 0 || number > UINT32_MAX) {
        return false;
    }
    *count = (uint32_t)number;
    return true;
}

static struct job describe_job(spank_t spank, char *const *environment, uid_t uid)
{
    struct job job = {.id = number_item(spank, S_JOB_ID, 0), .uid = uid};
    job.array_task = number_item(spank, S_JOB_ARRAY_TASK_ID, NO_VAL);
    job.in_array = job.array_task != NO_VAL;
    job.restarts = number_item(spank, S_SLURM_RESTART_COUNT, 0);
    job_set_cluster(&job, environment);
    job.has_tasks = count_variable(environment, "SLURM_NTASKS", &job.tasks);
    if (!count_variable(environment, "SLURM_JOB_NUM_NODES", &job.nodes)) {
        job.nodes = number_item(spank, S_JOB_NNODES, 1);
    }
    return job;
}

// Return whether this code runs with the user's privileges, and set `uid`. Hooks run as root or as the user, but data
// from the user must be handled with the user's privileges only.
static bool have_users_privileges(spank_t spank, uid_t *uid)
{
    return spank_get_item(spank, S_JOB_UID, uid) == ESPANK_SUCCESS && geteuid() == *uid;
}

static int read_carried(spank_t spank, struct decision *decision)
{
    int result = -1;
    char *text = malloc(CARRY_MAX + 1);
    if (text && spank_getenv(spank, CARRY_VARIABLE, text, CARRY_MAX + 1) == ESPANK_SUCCESS) {
        result = decision_from_carried(decision, text, strlen(text));
    }
    free(text);
    return result;
}

// Ask for a decision in the batch step, where all facts about the job are known. Set CARRY_VARIABLE as if the decision
// had been made at submission, so that later steps find their settings.
static enum client_result decide_at_start(spank_t spank, const struct settings *settings, nanoseconds deadline,
                                          char *const *environment, struct decision *decision)
{
    struct submission submission = {0};
    enum client_result result = CLIENT_OK;
    bool ignored = false;
    char **argv = NULL;
    int argc = 0;
    enum mode mode = options_mode(environment_value(environment, OPTION_TWIN), settings->mode, &ignored);

    if (mode == MODE_OFF || settings_exclude(settings, report.job.uid)) {
        decision->verdict = VERDICT_OFF;
    } else {
        char *version = NULL;
        bool has_argv = spank_get_item(spank, S_JOB_ARGV, &argc, &argv) == ESPANK_SUCCESS && argc > 0;
        bool has_version = spank_get_item(spank, S_SLURM_VERSION, &version) == ESPANK_SUCCESS && version;
        const struct question question = {
            .submission = &submission, .mode = mode, .slurm_version = has_version ? version : "", .job = &report.job};
        result = collect_batch_step(&submission, environment, has_argv ? argv[0] : NULL)
                     ? CLIENT_FAILED
                     : ask_decision(&settings->matcher, deadline, &question, decision);
        submission_free(&submission);
    }
    if (result == CLIENT_FAILED) {
        decision->verdict = VERDICT_UNREACHABLE;
    }
    if (decision->verdict == VERDICT_DEFER) { // the decision cannot be deferred any further
        decision->verdict = VERDICT_NONE;
    }
    char *text = decision->verdict == VERDICT_APPLY ? decision_to_carried(decision) : NULL;
    if (text) {
        spank_setenv(spank, CARRY_VARIABLE, text, 1);
    } else { // newer plugins on other nodes may be able to read the old value, but all nodes must get the same settings
        spank_unsetenv(spank, CARRY_VARIABLE);
    }
    free(text);
    return result;
}

// Return how many of the decision's variables have their decided values in the tasks of a step.
static uint32_t count_present(spank_t spank, const struct decision *decision)
{
    char value[VARIABLE_VALUE_MAX + 1];
    uint32_t present = 0;
    for (size_t i = 0; i < decision->count; i++) {
        present += spank_getenv(spank, decision->variables[i].name, value, sizeof value) == ESPANK_SUCCESS &&
                   strcmp(value, decision->variables[i].value) == 0;
    }
    return present;
}

// Append to LD_PRELOAD the library that the decision requests. Each step does this again, because a script may have set
// LD_PRELOAD. Do nothing unless PRELOAD_VARIABLE has the decided value in the job. Returns 0, or -1 if the library
// could not be added.
static int preload(spank_t spank, const struct settings *settings, const struct decision *decision)
{
    const char *library = decision_value(decision, PRELOAD_VARIABLE);
    char **environment = NULL;
    char *list = NULL;
    if (!library || spank_get_item(spank, S_JOB_ENV, &environment) != ESPANK_SUCCESS) {
        return 0;
    }
    const char *present = environment_value(environment, PRELOAD_VARIABLE);
    if (!present || strcmp(present, library) != 0) {
        return 0;
    }
    const char *before = environment_value(environment, LOADER_VARIABLE);
    int result = preload_left_out(settings->preload_directory, library, before, &list);
    if (result == 0 && !list) {
        result = preload_added(settings->preload_directory, library, before, &list);
    }
    if (result == 0 && preload_is_there(settings->preload_directory, library)) {
        result = loading_allow_order(spank, environment);
    }
    if (result == 0 && list && spank_setenv(spank, LOADER_VARIABLE, list, 1) != ESPANK_SUCCESS) {
        result = -1;
    }
    free(list);
    return result;
}

// True if the step's environment names this decision, because the step has inherited the environment of the batch
// script. The step then has the settings already, unless the script removed them.
static bool has_seen(spank_t spank, const struct decision *decision)
{
    char seen[DECISION_ID_MAX + 1];
    return spank_getenv(spank, DECISION_VARIABLE, seen, sizeof seen) == ESPANK_SUCCESS &&
           strcmp(seen, decision->id) == 0;
}

// Apply all settings of a decision or, if Slurm cannot set one of the variables, none of them, because only the
// complete set was measured. Returns the number of variables set. Variables that the job already has were set by the
// user and stay unchanged.
static uint32_t apply(spank_t spank, const struct settings *settings, const struct decision *decision)
{
    bool set[VARIABLES_MAX] = {false};
    bool complete = true;
    uint32_t applied = 0;
    if (decision->verdict != VERDICT_APPLY) {
        return 0;
    }
    if (has_seen(spank, decision)) {
        preload(spank, settings, decision);
        return 0;
    }
    for (size_t i = 0; complete && i < decision->count; i++) {
        const struct variable *variable = &decision->variables[i];
        spank_err_t error = spank_setenv(spank, variable->name, variable->value, 0);
        set[i] = error == ESPANK_SUCCESS;
        complete = set[i] || error == ESPANK_ENV_EXISTS;
        applied += set[i];
    }
    if (complete && spank_setenv(spank, DECISION_VARIABLE, decision->id, 1) == ESPANK_SUCCESS) {
        if (preload(spank, settings, decision) == 0) {
            return applied;
        }
        spank_unsetenv(spank, DECISION_VARIABLE);
    }
    for (size_t i = 0; i < decision->count; i++) {
        if (set[i]) {
            spank_unsetenv(spank, decision->variables[i].name);
        }
    }
    return 0;
}

// Report the job's outcome so far. Returns the path of the program that the daemon asks the plugin to identify, or NULL
// if the daemon does not ask. The caller must free the path.
static char *send_report(const struct settings *settings, nanoseconds deadline, const struct outcome_end *end)
{
    const struct outcome outcome = {
        .verdict = report.verdict,
        .decision = report.decision,
        .applied = report.applied,
        .unreadable = report.unreadable,
        .job = &report.job,
        .ended = end,
    };
    return ask_to_note(&settings->matcher, deadline, &outcome);
}

// Apply the decision to a step that is not the batch step. If settings are applied, the first node of the job's first
// step reports how many of the decision's variables the tasks have; other nodes and steps do not report.
static void step_start(spank_t spank, const struct settings *settings, nanoseconds deadline, uid_t uid,
                       const struct decision *decision)
{
    char **environment = NULL;
    // Settings are applied even if this node cannot read a file named in them, because all nodes must get the same
    // settings.
    const uint32_t applied = apply(spank, settings, decision);
    if (decision->verdict != VERDICT_APPLY || number_item(spank, S_JOB_STEPID, NO_VAL) != 0 ||
        number_item(spank, S_JOB_NODEID, NO_VAL) != 0) {
        return;
    }
    spank_get_item(spank, S_JOB_ENV, &environment);
    report.job = describe_job(spank, environment, uid);
    const struct outcome_step step = {.present = count_present(spank, decision)};
    const uint32_t unreadable = decision_unreadable(decision, settings->preload_directory);
    const struct outcome outcome = {
        .verdict = decision->verdict,
        .decision = decision->id,
        .applied = applied,
        .unreadable = unreadable,
        .job = &report.job,
        .step = &step,
    };
    free(ask_to_note(&settings->matcher, deadline, &outcome));
}

static enum client_result batch_start(spank_t spank, const struct settings *settings, nanoseconds deadline, uid_t uid,
                                      bool carried, struct decision *decision)
{
    enum client_result result = CLIENT_OK;
    char **environment = NULL;
    spank_get_item(spank, S_JOB_ENV, &environment);
    report.watched = true;
    report.started = monotonic_now();
    report.job = describe_job(spank, environment, uid);
    if (!carried) {
        result = decide_at_start(spank, settings, deadline, environment, decision);
    }
    report.unreadable = decision_unreadable(decision, settings->preload_directory);
    if (report.unreadable) { // the steps of the job must not get settings that refer to a missing file
        spank_unsetenv(spank, CARRY_VARIABLE);
    } else {
        report.applied = apply(spank, settings, decision);
    }
    report.verdict = decision->verdict;
    memcpy(report.decision, decision->id, sizeof report.decision);
    if (result == CLIENT_OK) { // otherwise, no daemon would receive the report
        char *program = send_report(settings, deadline, NULL);
        if (program && settings->identity) {
            identify(&settings->matcher, deadline, report.decision, program);
        }
        free(program);
    }
    return result;
}

char *jobstep_start(spank_t spank, const struct settings *settings, const char **remark)
{
    const nanoseconds deadline = deadline_in_ms(settings->deadline_ms); // shared by all requests of this function
    struct decision decision = {0};
    uid_t uid = 0;
    *remark = NULL;
    if (!have_users_privileges(spank, &uid) || settings_killed(settings)) {
        return NULL;
    }
    const bool carried = read_carried(spank, &decision) == 0;
    const bool is_batch = number_item(spank, S_JOB_STEPID, NO_VAL) == SLURM_BATCH_SCRIPT;
    if (is_batch) {
        enum client_result result = batch_start(spank, settings, deadline, uid, carried, &decision);
        *remark = result == CLIENT_NO_CREDENTIAL ? result_words(result) : NULL;
    } else {
        step_start(spank, settings, deadline, uid, &decision);
    }
    decision_free(&decision);
    if (settings_exclude(settings, uid)) {
        return NULL;
    }
    const struct profiled_step step = {
        .is_batch = is_batch,
        .is_first = is_batch || number_item(spank, S_JOB_NODEID, NO_VAL) == 0,
        .job = number_item(spank, S_JOB_ID, 0),
        .restarts = number_item(spank, S_SLURM_RESTART_COUNT, 0),
    };
    return profile_start(spank, settings, &step);
}

void jobstep_end(spank_t spank, const struct settings *settings)
{
    struct outcome_end end = {.elapsed_s = (double)(monotonic_now() - report.started) / 1e9};
    if (!report.watched || settings_killed(settings) ||
        spank_get_item(spank, S_TASK_EXIT_STATUS, &end.exit_status) != ESPANK_SUCCESS) {
        return;
    }
    report.watched = false; // report only once per job
    free(send_report(settings, deadline_in_ms(settings->deadline_ms), &end));
}
