// SPDX-License-Identifier: Apache-2.0
// Fuzz a step's start and end on a compute node. The first byte of the input is 1 for a batch step. The daemon's reply
// follows, then a byte 255, which UTF-8 never contains, and then the job's environment, one variable per line.
#include "../../spank/jobstep.h"

#include <errno.h>
#include <json-c/json.h>
#include <slurm/slurm.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "../../spank/allowlist.h"
#include "../../spank/client.h"
#include "../../spank/options.h"
#include "../../spank/preload.h"
#include "harness.h"

#define LIBRARY LIBRARIES "/libreprise_x.so"

static struct {
    bool batch;
    const char *reply;
    size_t reply_size;
    char **environment;
    size_t given;
} step;

static const char *value_of(const char *name)
{
    const size_t length = strlen(name);
    for (char **entry = step.environment; *entry; entry++) {
        if (strncmp(*entry, name, length) == 0 && (*entry)[length] == '=') {
            return *entry + length + 1;
        }
    }
    return NULL;
}

spank_err_t spank_option_register(spank_t spank, struct spank_option *option)
{
    (void)spank;
    (void)option;
    return ESPANK_SUCCESS;
}

spank_err_t spank_getenv(spank_t spank, const char *name, char *buffer, int size)
{
    (void)spank;
    const char *value = value_of(name);
    if (!value) {
        return ESPANK_ENV_NOEXIST;
    }
    return snprintf(buffer, (size_t)size, "%s", value) < size ? ESPANK_SUCCESS : ESPANK_NOSPACE;
}

// Checks a new LD_PRELOAD: the decision must have requested it, previous entries must remain, and only the site's
// libraries may be added.
static void check_list(const char *list)
{
    const char *before = value_of(LOADER_VARIABLE);
    const size_t length = before ? strlen(before) : 0, whole = strlen(list), ours = strlen(LIBRARY);
    MUST(value_of(PRELOAD_VARIABLE) && strcmp(value_of(PRELOAD_VARIABLE), "x") == 0);
    MUST(strncmp(list, before ? before : "", length) == 0);
    MUST(whole == length + (length > 0) + ours && strcmp(list + whole - ours, LIBRARY) == 0);
}

// Checks new options for the sanitizer: previous options must remain, and only the option about the order of libraries
// may be added.
static void check_options(const char *options)
{
    const char *before = value_of(SANITIZER_VARIABLE);
    const size_t length = before ? strlen(before) : 0;
    MUST(value_of(PRELOAD_VARIABLE) && strncmp(options, before ? before : "", length) == 0);
    MUST(strcmp(options + length + (length > 0), SANITIZER_ANY_ORDER) == 0);
}

spank_err_t spank_setenv(spank_t spank, const char *name, const char *value, int overwrite)
{
    (void)spank;
    struct decision decision = {0};
    if (strcmp(name, LOADER_VARIABLE) == 0) {
        check_list(value);
        return ESPANK_SUCCESS;
    }
    if (strcmp(name, SANITIZER_VARIABLE) == 0) {
        check_options(value);
        return ESPANK_SUCCESS;
    }
    if (strcmp(name, CARRY_VARIABLE) == 0) {
        MUST(step.batch && decision_from_carried(&decision, value, strlen(value)) == 0);
        decision_free(&decision);
        return ESPANK_SUCCESS;
    }
    MUST(allowlist_has(name, strlen(name)));
    MUST(!strchr(value, '\n') && strlen(value) <= VARIABLE_VALUE_MAX);
    if (strcmp(name, DECISION_VARIABLE) != 0 || !overwrite) {
        MUST(!overwrite && ++step.given <= VARIABLES_MAX);
    }
    return value_of(name) && !overwrite ? ESPANK_ENV_EXISTS : ESPANK_SUCCESS;
}

// Only the batch step may unset a variable, and only the carried decision, if it cannot read it. The plugin unsets
// other variables only after a failure, and the stubs above never fail.
spank_err_t spank_unsetenv(spank_t spank, const char *name)
{
    (void)spank;
    MUST(step.batch && name && strcmp(name, CARRY_VARIABLE) == 0);
    return ESPANK_SUCCESS;
}

spank_err_t spank_get_item(spank_t spank, spank_item_t item, ...)
{
    (void)spank;
    spank_err_t result = ESPANK_SUCCESS;
    va_list arguments;
    va_start(arguments, item);
    switch ((int)item) {
    case S_JOB_UID:
        *va_arg(arguments, uid_t *) = geteuid();
        break;
    case S_JOB_STEPID:
        *va_arg(arguments, uint32_t *) = step.batch ? SLURM_BATCH_SCRIPT : 0;
        break;
    case S_TASK_EXIT_STATUS:
        *va_arg(arguments, int *) = 0;
        break;
    case S_JOB_ENV:
        *va_arg(arguments, char ***) = step.environment;
        break;
    default:
        result = ESPANK_NOT_AVAIL;
    }
    va_end(arguments);
    return result;
}

// Checks that a request conforms to docs/reference/messages.md and contains no credentials.
static void check_request(const char *request, size_t size)
{
    struct json_tokener *tokener = json_tokener_new();
    struct json_object *submission = NULL;
    struct json_object *env = NULL;
    MUST(size <= REQUEST_MAX);
    json_tokener_set_flags(tokener, JSON_TOKENER_STRICT | JSON_TOKENER_VALIDATE_UTF8);
    struct json_object *message = json_tokener_parse_ex(tokener, request, (int)size);
    MUST(json_object_is_type(message, json_type_object));
    if (json_object_object_get_ex(message, "submission", &submission)) {
        MUST(json_object_object_get_ex(submission, "env", &env));
        json_object_object_foreach(env, name, value)
        {
            (void)value;
            MUST(strncmp(name, "SLURM_SPANK_", 12) != 0 && strncmp(name, "SLURM_JWT", 9) != 0);
        }
    }
    json_object_put(message);
    json_tokener_free(tokener);
}

// Replaces the client: checks the request and returns the reply from the input.
enum client_result client_exchange(const struct matcher *matcher, nanoseconds deadline, const char *request,
                                   size_t size, char **reply, size_t *reply_size)
{
    (void)matcher;
    (void)deadline;
    check_request(request, size);
    if (step.reply_size == 0) {
        return CLIENT_ABSENT;
    }
    *reply = copy_text((const uint8_t *)step.reply, step.reply_size);
    *reply_size = step.reply_size;
    return CLIENT_OK;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const struct settings settings = {.kill_switch = "/nowhere/reprise",
                                             .preload_directory = LIBRARIES,
                                             .witness = "/nowhere/reprise-witness.so",
                                             .deadline_ms = 1,
                                             .mode = MODE_ON};
    const uint8_t *end = size > 0 ? memchr(data + 1, 255, size - 1) : NULL;
    if (!end) {
        return 0;
    }
    size_t count = 0;
    const size_t environment_size = (size_t)(data + size - end - 1);
    char *text = copy_text(end + 1, environment_size);
    step.batch = data[0] & 1;
    step.reply = (const char *)data + 1;
    step.reply_size = (size_t)(end - data - 1);
    step.environment = split(text, environment_size, '\n', 256, &count);
    step.given = 0;
    const char *remark = NULL;
    free(jobstep_start(NULL, &settings, &remark));
    jobstep_end(NULL, &settings);
    free(step.environment);
    free(text);
    return 0;
}
