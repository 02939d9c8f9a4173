// SPDX-License-Identifier: Apache-2.0
#include "decision.h"

#include <fcntl.h>
#include <json-c/json.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "allowlist.h"
#include "json.h"
#include "message.h"
#include "preload.h"

static const struct {
    enum verdict verdict;
    const char *word;
    bool from_daemon;
    bool carried;
} verdicts[] = {
    // in the order of enum verdict
    {VERDICT_NONE, "none", true, true},
    {VERDICT_APPLY, "apply", true, true},
    {VERDICT_OBSERVE, "observe", true, true},
    {VERDICT_HOLDOUT, "holdout", true, true},
    {VERDICT_DEFER, "defer", true, false},
    {VERDICT_OFF, "off", false, true},
    {VERDICT_UNREACHABLE, "unreachable", false, false},
};

const char *verdict_word(enum verdict verdict)
{
    return verdicts[verdict].word;
}

static int read_id(struct decision *decision, struct json_object *message)
{
    static const char allowed[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
    const char *id = message_text(message, "id", DECISION_ID_MAX);
    if (!id || !*id || id[strspn(id, allowed)] != '\0') {
        return -1;
    }
    memcpy(decision->id, id, strlen(id) + 1);
    return 0;
}

static int read_verdict(struct decision *decision, struct json_object *message, bool carried)
{
    const char *word = message_text(message, "verdict", REASON_MAX);
    for (size_t i = 0; word && i < sizeof verdicts / sizeof *verdicts; i++) {
        if (strcmp(word, verdicts[i].word) == 0 && (carried ? verdicts[i].carried : verdicts[i].from_daemon)) {
            decision->verdict = verdicts[i].verdict;
            return 0;
        }
    }
    return -1;
}

static int add_variable(struct decision *decision, const char *name, struct json_object *value)
{
    const char *text = message_text_of(value, VARIABLE_VALUE_MAX);
    size_t length = strlen(name);
    if (!text || strchr(text, '\n') || length > VARIABLE_NAME_MAX || !allowlist_has(name, length) ||
        !allowlist_takes(name, length, text)) {
        return -1;
    }
    struct variable *variable = &decision->variables[decision->count++];
    variable->name = strdup(name);
    variable->value = strdup(text);
    return variable->name && variable->value ? 0 : -1;
}

static int read_variables(struct decision *decision, struct json_object *message)
{
    struct json_object *env = NULL;
    if (!json_object_object_get_ex(message, "env", &env) || !json_object_is_type(env, json_type_object)) {
        return -1;
    }
    int count = json_object_object_length(env);
    if (count > VARIABLES_MAX || (count > 0 && decision->verdict != VERDICT_APPLY)) {
        return -1;
    }
    if (count == 0) {
        return 0;
    }
    decision->variables = calloc((size_t)count, sizeof *decision->variables);
    if (!decision->variables) {
        return -1;
    }
    json_object_object_foreach(env, name, value)
    {
        if (add_variable(decision, name, value)) {
            return -1;
        }
    }
    return 0;
}

static int read_reason(struct decision *decision, struct json_object *message)
{
    const char *reason = message_text(message, "reason", REASON_MAX);
    if (!reason) {
        return -1;
    }
    memcpy(decision->reason, reason, strlen(reason) + 1);
    return 0;
}

static int read_score(struct decision *decision, struct json_object *message)
{
    struct json_object *score = NULL;
    if (!json_object_object_get_ex(message, "score", &score)) {
        return -1;
    }
    if (!score) {
        return 0;
    }
    decision->has_score = true;
    decision->score = json_object_get_double(score);
    bool is_number = json_object_is_type(score, json_type_double) || json_object_is_type(score, json_type_int);
    return is_number && isfinite(decision->score) ? 0 : -1;
}

// Check the record, which the plugin does not use: the reason names it.
static int check_record(struct json_object *message)
{
    struct json_object *record = NULL;
    if (!json_object_object_get_ex(message, "record", &record)) {
        return -1;
    }
    return !record || json_object_is_type(record, json_type_int) ? 0 : -1;
}

static int read_reply(struct decision *decision, struct json_object *message)
{
    if (!message_is(message, "decision")) {
        return -1;
    }
    return read_id(decision, message) || read_verdict(decision, message, false) || read_reason(decision, message) ||
                   read_score(decision, message) || check_record(message) || read_variables(decision, message)
               ? -1
               : 0;
}

static int read_carried(struct decision *decision, struct json_object *message)
{
    if (read_verdict(decision, message, true) || read_variables(decision, message)) {
        return -1;
    }
    if (decision->verdict == VERDICT_OFF) {
        return json_object_object_get_ex(message, "id", NULL) ? -1 : 0;
    }
    return read_id(decision, message);
}

static int read_text(struct decision *decision, const char *text, size_t size,
                     int (*read)(struct decision *, struct json_object *))
{
    struct json_object *message = message_parse(text, size);
    if (!message) {
        return -1;
    }
    int result = read(decision, message);
    json_object_put(message);
    if (result) {
        decision_free(decision);
    }
    return result;
}

int decision_from_reply(struct decision *decision, const char *text, size_t size)
{
    return read_text(decision, text, size, read_reply);
}

int decision_from_carried(struct decision *decision, const char *text, size_t size)
{
    return read_text(decision, text, size, read_carried);
}

static int write_variables(const struct decision *decision, struct json_object *env)
{
    for (size_t i = 0; i < decision->count; i++) {
        const char *value = decision->variables[i].value;
        if (json_put(env, decision->variables[i].name, json_text(value, strlen(value)))) {
            return -1;
        }
    }
    return 0;
}

char *decision_to_carried(const struct decision *decision)
{
    char *text = NULL;
    size_t size = 0;
    struct json_object *env = NULL;
    if (!verdicts[decision->verdict].carried) {
        return NULL;
    }
    struct json_object *message = json_object_new_object();
    if (!message || json_put(message, "v", json_object_new_int(PROTOCOL_VERSION)) ||
        (decision->id[0] && json_put(message, "id", json_object_new_string(decision->id))) ||
        json_put(message, "verdict", json_object_new_string(verdict_word(decision->verdict))) ||
        json_put(message, "env", env = json_object_new_object()) || write_variables(decision, env)) {
        goto done;
    }
    text = json_serialise(message, CARRY_MAX, &size);
    struct json_object *again = text ? message_parse(text, size) : NULL;
    if (!json_object_equal(message, again)) { // json-c silently omits values if memory is short
        free(text);
        text = NULL;
    }
    json_object_put(again);
done:
    json_object_put(message);
    return text;
}

const char *decision_value(const struct decision *decision, const char *name)
{
    for (size_t i = 0; i < decision->count; i++) {
        if (strcmp(decision->variables[i].name, name) == 0) {
            return decision->variables[i].value;
        }
    }
    return NULL;
}

// Return whether a variable's file may be missing. The map of a job's I/O forwarders is written after the job has
// started; until then, and if it is gone, the forwarding library does nothing.
static bool may_be_missing(const char *name)
{
    static const char forwarding[] = "REPRISE_FORWARD_";
    return strncmp(name, forwarding, sizeof forwarding - 1) == 0;
}

uint32_t decision_unreadable(const struct decision *decision, const char *preload_directory)
{
    const char *library = decision_value(decision, PRELOAD_VARIABLE);
    uint32_t unreadable = library && !preload_is_there(preload_directory, library);
    for (size_t i = 0; i < decision->count; i++) {
        const char *value = decision->variables[i].value;
        unreadable += *value == '/' && !strchr(value, ':') && !may_be_missing(decision->variables[i].name) &&
                      faccessat(AT_FDCWD, value, R_OK, AT_EACCESS) != 0;
    }
    return unreadable;
}

void decision_free(struct decision *decision)
{
    for (size_t i = 0; i < decision->count; i++) {
        free(decision->variables[i].name);
        free(decision->variables[i].value);
    }
    free(decision->variables);
    *decision = (struct decision){0};
}
