// SPDX-License-Identifier: Apache-2.0
// JSON and bytes of any kind.
#ifndef REPRISE_JSON_H
#define REPRISE_JSON_H

#include <json-c/json.h>
#include <stdbool.h>
#include <stddef.h>

// True if the bytes are UTF-8. json-c's own check takes surrogates, overlong forms and what lies beyond U+10FFFF, too.
bool json_is_utf8(const char *bytes, size_t size);

// Put `value` under `key` and hand it over. Returns 0, or -1 if `value` is NULL or memory is short; it is released
// then.
int json_put(struct json_object *object, const char *key, struct json_object *value);

// The same at the end of an array.
int json_append(struct json_object *array, struct json_object *value);

// True if so much memory is to be had. What json-c has none for it leaves out as it reads, and tells nobody: it is to
// read only where there is plenty.
bool json_has_memory(size_t size);

// A string from bytes, where each byte that is not UTF-8 becomes U+FFFD. NULL without memory.
struct json_object *json_text(const char *bytes, size_t size);

// As json_text, cut at a character's end so that it has at most `limit` bytes; `*cut` tells whether it was.
struct json_object *json_text_cut(const char *bytes, size_t size, size_t limit, bool *cut);

// The serialised object, to be freed, with its length; NULL if it is longer than `limit`, or without memory.
char *json_serialise(struct json_object *object, size_t limit, size_t *size);

#endif
