// SPDX-License-Identifier: Apache-2.0
#include "json.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>

static const char replacement[] = "\xEF\xBF\xBD"; // U+FFFD in UTF-8
#define REPLACEMENT_SIZE (sizeof replacement - 1)

bool json_has_memory(size_t size)
{
    void *volatile memory = malloc(size); // volatile, so that compilers keep the call; malloc does not touch the pages
    bool has = memory;
    free(memory);
    return has;
}

int json_put(struct json_object *object, const char *key, struct json_object *value)
{
    if (value && json_object_object_add(object, key, value) == 0) {
        return 0;
    }
    json_object_put(value);
    return -1;
}

int json_append(struct json_object *array, struct json_object *value)
{
    if (value && json_object_array_add(array, value) == 0) {
        return 0;
    }
    json_object_put(value);
    return -1;
}

static bool is_continuation(unsigned char byte)
{
    return (byte & 0xC0) == 0x80;
}

// Return the length in bytes of the UTF-8 character at `bytes`, or 0 if the bytes are not UTF-8 (The Unicode Standard
// 15, table 3-7).
static size_t character_length(const unsigned char *bytes, size_t size)
{
    unsigned char first = bytes[0];
    if (first < 0x80) {
        return 1;
    }
    size_t length = first >= 0xC2 && first <= 0xDF   ? 2
                    : first >= 0xE0 && first <= 0xEF ? 3
                    : first >= 0xF0 && first <= 0xF4 ? 4
                                                     : 0;
    if (length == 0 || length > size) {
        return 0;
    }
    for (size_t i = 1; i < length; i++) {
        if (!is_continuation(bytes[i])) {
            return 0;
        }
    }
    bool overlong = (first == 0xE0 && bytes[1] < 0xA0) || (first == 0xF0 && bytes[1] < 0x90);
    bool surrogate = first == 0xED && bytes[1] > 0x9F;
    bool beyond = first == 0xF4 && bytes[1] > 0x8F;
    return overlong || surrogate || beyond ? 0 : length;
}

bool json_is_utf8(const char *bytes, size_t size)
{
    for (size_t i = 0; i < size;) {
        size_t length = character_length((const unsigned char *)bytes + i, size - i);
        if (length == 0) {
            return false;
        }
        i += length;
    }
    return true;
}

struct json_object *json_text_cut(const char *bytes, size_t size, size_t limit, bool *cut)
{
    size_t longest = size * REPLACEMENT_SIZE;
    char *text = malloc((longest < limit ? longest : limit) + 1);
    *cut = false;
    if (!text) {
        return NULL;
    }
    size_t length = 0;
    for (size_t i = 0; i < size;) {
        size_t taken = character_length((const unsigned char *)bytes + i, size - i);
        const char *from = taken ? bytes + i : replacement;
        size_t given = taken ? taken : REPLACEMENT_SIZE;
        if (length + given > limit) {
            *cut = true;
            break;
        }
        memcpy(text + length, from, given);
        length += given;
        i += taken ? taken : 1;
    }
    struct json_object *string = length <= INT_MAX ? json_object_new_string_len(text, (int)length) : NULL;
    free(text);
    return string;
}

struct json_object *json_text(const char *bytes, size_t size)
{
    bool cut = false;
    return json_text_cut(bytes, size, size * REPLACEMENT_SIZE, &cut);
}

char *json_serialise(struct json_object *object, size_t limit, size_t *size)
{
    const char *text =
        json_object_to_json_string_length(object, JSON_C_TO_STRING_PLAIN | JSON_C_TO_STRING_NOSLASHESCAPE, size);
    if (!text || *size > limit) {
        return NULL;
    }
    char *copy = malloc(*size + 1);
    if (copy) {
        memcpy(copy, text, *size + 1);
    }
    return copy;
}
