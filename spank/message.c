// SPDX-License-Identifier: Apache-2.0
#include "message.h"

#include <string.h>

#include "json.h"
#include "limits.h"

// True if the text contains a NUL, as a byte or as \u0000. Such a text is refused, because json-c would end the name of
// a member at the NUL.
static bool holds_nul(const char *text, size_t size)
{
    static const char escaped[] = "\\u0000";
    for (size_t i = 0; i < size; i++) {
        if (text[i] == '\0') {
            return true;
        }
        if (text[i] == '\\') {
            if (size - i >= sizeof escaped - 1 && memcmp(text + i, escaped, sizeof escaped - 1) == 0) {
                return true;
            }
            i++; // skip the escaped character
        }
    }
    return false;
}

struct json_object *message_object(const char *text, size_t size, size_t limit)
{
    if (size == 0 || size > limit || holds_nul(text, size) || !json_is_utf8(text, size) ||
        !json_has_memory(REPLY_MAX + size * PARSE_MEMORY)) {
        return NULL;
    }
    struct json_tokener *tokener = json_tokener_new_ex(REPLY_DEPTH_MAX);
    if (!tokener) {
        return NULL;
    }
    json_tokener_set_flags(tokener, JSON_TOKENER_STRICT);
    struct json_object *object = json_tokener_parse_ex(tokener, text, (int)size);
    json_tokener_free(tokener);
    if (!json_object_is_type(object, json_type_object)) {
        json_object_put(object);
        return NULL;
    }
    return object;
}

struct json_object *message_parse(const char *text, size_t size)
{
    struct json_object *message = message_object(text, size, REPLY_MAX);
    struct json_object *version = NULL;
    if (!message || !json_object_object_get_ex(message, "v", &version) ||
        !json_object_is_type(version, json_type_int) || json_object_get_int64(version) != PROTOCOL_VERSION) {
        json_object_put(message);
        return NULL;
    }
    return message;
}

const char *message_text_of(struct json_object *value, size_t limit)
{
    if (!json_object_is_type(value, json_type_string)) {
        return NULL;
    }
    const char *text = json_object_get_string(value);
    size_t length = (size_t)json_object_get_string_len(value);
    return text && length <= limit && strlen(text) == length ? text : NULL;
}

const char *message_text(struct json_object *message, const char *key, size_t limit)
{
    struct json_object *value = NULL;
    return json_object_object_get_ex(message, key, &value) ? message_text_of(value, limit) : NULL;
}

bool message_is(struct json_object *message, const char *kind)
{
    const char *is = message_text(message, "kind", REASON_MAX);
    return is && strcmp(is, kind) == 0;
}

char *message_asks_about(const char *text, size_t size)
{
    struct json_object *message = message_parse(text, size);
    const char *path = message_is(message, "ok") ? message_text(message, "identify", PROGRAM_PATH_MAX) : NULL;
    char *copy = path && *path == '/' ? strdup(path) : NULL;
    json_object_put(message);
    return copy;
}
