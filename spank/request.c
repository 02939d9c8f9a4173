// SPDX-License-Identifier: Apache-2.0
#include "request.h"

#include <json-c/json.h>
#include <string.h>

#include "allowlist.h"
#include "json.h"
#include "limits.h"

// Prefixes of the environment variables that describe a submission.
static const char *const sent_prefixes[] = {"SLURM_", "SBATCH_", "SALLOC_", NULL};
// Prefixes of environment variables that are never sent. SLURM_JWT is a credential. Plugins pass SLURM_SPANK_ variables
// to a job: this plugin's variable contains the decision that the job carries, and those of other plugins may contain
// secrets.
static const char *const never_sent_prefixes[] = {"SLURM_JWT", "SLURM_SPANK_", NULL};

static bool begins_with_one_of(const char *entry, const char *const *prefixes)
{
    for (; *prefixes; prefixes++) {
        if (strncmp(entry, *prefixes, strlen(*prefixes)) == 0) {
            return true;
        }
    }
    return false;
}

// The name comes from SLURM_CLUSTER_NAME. In a batch job, Slurm sets this variable to the cluster's name in lower case,
// even if the user has set another value (seen on 20.11, 22.05 and 24.11).
void job_set_cluster(struct job *job, char *const *environment)
{
    static const char allowed[] = "abcdefghijklmnopqrstuvwxyz0123456789._-";
    const char *name = environment_value(environment, "SLURM_CLUSTER_NAME");
    const size_t length = name ? strspn(name, allowed) : 0;
    const bool usable = length <= CLUSTER_NAME_MAX && name && name[length] == '\0';
    memcpy(job->cluster, usable ? name : "", usable ? length + 1 : 1);
}

static bool is_sent(const char *entry)
{
    return begins_with_one_of(entry, sent_prefixes) && !begins_with_one_of(entry, never_sent_prefixes);
}

static int put_text(struct json_object *object, const char *key, const char *text)
{
    return json_put(object, key, json_text(text, strlen(text)));
}

// Put an unsigned number under `key`, or null if `present` is false.
static int put_optional(struct json_object *object, const char *key, bool present, uint32_t number)
{
    return present ? json_put(object, key, json_object_new_int64(number)) : json_object_object_add(object, key, NULL);
}

// Put a new object or array under `key` and return it; `object` owns it. NULL if memory is short.
static struct json_object *put_new(struct json_object *object, const char *key, struct json_object *value)
{
    return json_put(object, key, value) ? NULL : value;
}

// The name of a variable may contain any bytes except `=`, but json-c requires NUL-terminated text, so a copy is made.
static int put_variable(struct json_object *env, const char *entry, size_t name_length)
{
    struct json_object *name = json_text(entry, name_length);
    const char *value = entry + name_length + 1;
    int result = name ? json_put(env, json_object_get_string(name), json_text(value, strlen(value))) : -1;
    json_object_put(name);
    return result;
}

static int put_environment(struct json_object *body, char *const *environment)
{
    struct json_object *env = put_new(body, "env", json_object_new_object());
    struct json_object *set = put_new(body, "set", json_object_new_array());
    size_t env_size = 0;
    size_t set_size = 0;
    if (!env || !set) {
        return -1;
    }
    for (; environment && *environment; environment++) {
        const char *entry = *environment;
        size_t size = strlen(entry);
        size_t name_length = strcspn(entry, "=");
        if (name_length == size) {
            continue;
        }
        if (is_sent(entry) && env_size + size <= ENVIRONMENT_MAX) {
            env_size += size;
            if (put_variable(env, entry, name_length)) {
                return -1;
            }
        }
        if (allowlist_tells(entry, name_length) && set_size + name_length <= SET_NAMES_MAX) {
            set_size += name_length;
            if (json_append(set, json_text(entry, name_length))) {
                return -1;
            }
        }
    }
    return 0;
}

static int put_arguments(struct json_object *body, const struct submission *submission)
{
    struct json_object *argv = put_new(body, "argv", json_object_new_array());
    for (size_t i = 0; argv && i < submission->argc; i++) {
        if (json_append(argv, json_text(submission->argv[i], strlen(submission->argv[i])))) {
            return -1;
        }
    }
    return argv ? 0 : -1;
}

static int put_script(struct json_object *body, const struct submission *submission)
{
    if (!submission->script_text) {
        return json_object_object_add(body, "script", NULL);
    }
    bool cut = false;
    struct json_object *script = put_new(body, "script", json_object_new_object());
    // The text ends at the first NUL byte. sbatch refuses scripts with NUL bytes, so nothing that would run is lost.
    size_t size = strnlen(submission->script_text, submission->script_size);
    struct json_object *text = json_text_cut(submission->script_text, size, SCRIPT_MAX, &cut);
    if (!script) {
        json_object_put(text);
        return -1;
    }
    return json_put(script, "text", text) || put_text(script, "path", submission->script_path) ||
                   json_put(script, "truncated", json_object_new_boolean(cut))
               ? -1
               : 0;
}

static int put_submission(struct json_object *message, const struct submission *submission)
{
    struct json_object *body = put_new(message, "submission", json_object_new_object());
    return !body || put_text(body, "command", submission->command) || put_arguments(body, submission) ||
                   put_text(body, "cwd", submission->cwd ? submission->cwd : "") ||
                   put_environment(body, submission->environment) || put_script(body, submission)
               ? -1
               : 0;
}

static int put_client(struct json_object *message, const char *slurm_version)
{
    struct json_object *client = put_new(message, "client", json_object_new_object());
    return !client || put_text(client, "plugin", REPRISE_VERSION) || put_text(client, "slurm", slurm_version) ||
                   json_put(client, "allow_list", json_object_new_int(allowlist_version()))
               ? -1
               : 0;
}

static int put_cluster(struct json_object *body, const struct job *job)
{
    return *job->cluster ? put_text(body, "cluster", job->cluster) : json_object_object_add(body, "cluster", NULL);
}

static int put_job(struct json_object *message, const struct job *job)
{
    struct json_object *body = put_new(message, "job", json_object_new_object());
    return !body || put_optional(body, "id", true, job->id) ||
                   put_optional(body, "array_task", job->in_array, job->array_task) ||
                   put_optional(body, "nodes", true, job->nodes) ||
                   put_optional(body, "tasks", job->has_tasks, job->tasks) ||
                   put_optional(body, "restarts", true, job->restarts) || put_cluster(body, job)
               ? -1
               : 0;
}

static int put_kind(struct json_object *message, const char *kind)
{
    return json_put(message, "v", json_object_new_int(PROTOCOL_VERSION)) || put_text(message, "kind", kind) ? -1 : 0;
}

// Serialize `message` and release it. Returns NULL unless `built` is true, which means that the message is complete.
static char *finish(struct json_object *message, bool built, size_t *size)
{
    char *text = built ? json_serialise(message, REQUEST_MAX, size) : NULL;
    json_object_put(message);
    return text;
}

static char *decide(const struct question *question, const struct submission *submission, size_t *size)
{
    const struct job *job = question->job;
    struct json_object *message = json_object_new_object();
    bool built = message && !put_kind(message, "decide") && !put_text(message, "point", job ? "start" : "submit") &&
                 !put_text(message, "mode", mode_asked(question->mode)) &&
                 !put_client(message, question->slurm_version) && !put_submission(message, submission) &&
                 (!job || !put_job(message, job));
    return finish(message, built, size);
}

char *request_decide(const struct question *question, size_t *size)
{
    char *text = decide(question, question->submission, size);
    // The script may make the request too long, because each of its control characters takes six bytes in JSON.
    if (!text && question->submission->script_text) {
        struct submission without_script = *question->submission;
        without_script.script_text = NULL;
        text = decide(question, &without_script, size);
    }
    return text;
}

static int put_outcome_job(struct json_object *message, const struct job *job)
{
    struct json_object *body = put_new(message, "job", json_object_new_object());
    return !body || put_optional(body, "id", true, job->id) ||
                   put_optional(body, "array_task", job->in_array, job->array_task) ||
                   put_optional(body, "uid", true, job->uid) || put_cluster(body, job)
               ? -1
               : 0;
}

static int put_end(struct json_object *message, const struct outcome_end *end)
{
    return json_put(message, "elapsed_s", json_object_new_double(end->elapsed_s)) ||
                   json_put(message, "exit_status", json_object_new_int(end->exit_status))
               ? -1
               : 0;
}

static int put_decision(struct json_object *message, const char *id)
{
    return *id ? put_text(message, "decision", id) : json_object_object_add(message, "decision", NULL);
}

static const char *state_word(const struct outcome *outcome)
{
    return outcome->ended ? "ended" : outcome->step ? "step" : "started";
}

char *request_outcome(const struct outcome *outcome, size_t *size)
{
    struct json_object *message = json_object_new_object();
    bool built =
        message && !put_kind(message, "outcome") && !put_text(message, "state", state_word(outcome)) &&
        !put_decision(message, outcome->decision) && !put_text(message, "verdict", verdict_word(outcome->verdict)) &&
        !put_optional(message, "applied", true, outcome->applied) &&
        !put_optional(message, "unreadable", true, outcome->unreadable) && !put_outcome_job(message, outcome->job) &&
        (!outcome->step || !put_optional(message, "present", true, outcome->step->present)) &&
        (!outcome->ended || !put_end(message, outcome->ended));
    return finish(message, built, size);
}

static int put_executable(struct json_object *message, const struct identity *identity)
{
    return put_text(message, "build_id", identity->build_id) || put_text(message, "functions", identity->functions) ||
                   put_text(message, "imports", identity->imports) ||
                   put_text(message, "contents", identity->contents) ||
                   put_text(message, "runtime", identity->runtime) ||
                   put_text(message, "mpi_library", identity->mpi_library)
               ? -1
               : 0;
}

static int put_program_text(struct json_object *message, const struct bytes *script)
{
    bool cut = false;
    const char *text = (const char *)script->at;
    return json_put(message, "script", json_text_cut(text, strnlen(text, script->size), SCRIPT_MAX, &cut));
}

char *request_identity(const char *decision, const struct identity *identity, size_t *size)
{
    struct json_object *message = json_object_new_object();
    bool built =
        message && !put_kind(message, "identity") && !put_text(message, "decision", decision) &&
        !(identity->script.at ? put_program_text(message, &identity->script) : put_executable(message, identity));
    return finish(message, built, size);
}
