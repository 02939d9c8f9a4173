// SPDX-License-Identifier: Apache-2.0
#include "harness.h"

#include <json-c/json.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../../spank/allowlist.h"

static bool is_line(const char *text)
{
    return !strpbrk(text, "\n");
}

void check_decision(const struct decision *decision)
{
    MUST(decision->count <= VARIABLES_MAX);
    MUST(decision->count == 0 || decision->verdict == VERDICT_APPLY);
    MUST(strlen(decision->id) <= DECISION_ID_MAX);
    MUST(strlen(decision->reason) <= REASON_MAX);
    MUST(!decision->id[0] == (decision->verdict == VERDICT_OFF));
    for (size_t i = 0; i < decision->count; i++) {
        const struct variable *variable = &decision->variables[i];
        MUST(strlen(variable->name) <= VARIABLE_NAME_MAX);
        MUST(allowlist_has(variable->name, strlen(variable->name)));
        MUST(is_line(variable->name) && !strchr(variable->name, '='));
        MUST(strlen(variable->value) <= VARIABLE_VALUE_MAX);
        MUST(is_line(variable->value));
        for (size_t other = 0; other < i; other++) {
            MUST(strcmp(variable->name, decision->variables[other].name) != 0);
        }
    }
}

bool same_to_the_job(const struct decision *one, const struct decision *other)
{
    bool same = one->verdict == other->verdict && one->count == other->count && strcmp(one->id, other->id) == 0;
    for (size_t i = 0; same && i < one->count; i++) {
        same = strcmp(one->variables[i].name, other->variables[i].name) == 0 &&
               strcmp(one->variables[i].value, other->variables[i].value) == 0;
    }
    return same;
}

// Replacements for the allocation functions and the json-c functions that the plugin calls; linked with --wrap.
static unsigned int to_failure;

static bool fails(void)
{
    return to_failure > 0 && --to_failure == 0;
}

#define WRAP(type, name, parameters, arguments)                                                                        \
    type __real_##name parameters;                                                                                     \
    type __wrap_##name parameters;                                                                                     \
    type __wrap_##name parameters                                                                                      \
    {                                                                                                                  \
        return fails() ? NULL : __real_##name arguments;                                                               \
    }
WRAP(void *, malloc, (size_t size), (size))
WRAP(void *, calloc, (size_t count, size_t size), (count, size))
WRAP(char *, strdup, (const char *text), (text))
WRAP(struct json_tokener *, json_tokener_new_ex, (int depth), (depth))
WRAP(struct json_object *, json_object_new_object, (void), ())

void check_without_memory(read_decision *read, const char *text, size_t size, const struct decision *decision,
                          unsigned int fail_at)
{
    static const struct decision empty;
    struct decision again = {0};
    to_failure = fail_at;
    int result = read(&again, text, size);
    to_failure = 0;
    MUST(same_to_the_job(&again, result == 0 ? decision : &empty));
    decision_free(&again);
}

char *copy_text(const uint8_t *data, size_t size)
{
    char *text = __real_malloc(size + 1);
    if (!text) {
        abort();
    }
    if (size > 0) {
        memcpy(text, data, size);
    }
    text[size] = '\0';
    return text;
}

char **split(char *text, size_t size, char separator, size_t limit, size_t *count)
{
    char **pieces = __real_calloc(limit + 1, sizeof *pieces);
    if (!pieces) {
        abort();
    }
    *count = 0;
    for (char *end = text + size; text <= end && *count < limit;) {
        char *next = memchr(text, separator, (size_t)(end - text));
        next = next ? next : end;
        *next = '\0';
        pieces[(*count)++] = text;
        text = next + 1;
    }
    return pieces;
}
