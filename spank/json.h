// SPDX-License-Identifier: Apache-2.0
// JSON from arbitrary bytes.
#ifndef REPRISE_JSON_H
#define REPRISE_JSON_H

#include <json-c/json.h>
#include <stdbool.h>
#include <stddef.h>

// True if the bytes are UTF-8. The check of json-c also accepts surrogates, overlong forms and code points beyond
// U+10FFFF.
bool json_is_utf8(const char *bytes, size_t size);

// Add `value` under `key`; the object takes ownership. Returns 0, or -1 if `value` is NULL or memory is short; the
// value is then released.
int json_put(struct json_object *object, const char *key, struct json_object *value);

// Append `value` to an array; ownership and result as for json_put.
int json_append(struct json_object *array, struct json_object *value);

// True if `size` bytes of memory are available. json-c silently omits values that it has no memory for, so it is used
// only if there is plenty.
bool json_has_memory(size_t size);

// A JSON string from bytes; each byte that is not UTF-8 becomes U+FFFD. NULL without memory.
struct json_object *json_text(const char *bytes, size_t size);

// As json_text, but cut after a whole character so that it has at most `limit` bytes; `*cut` is set if it was cut.
struct json_object *json_text_cut(const char *bytes, size_t size, size_t limit, bool *cut);

// The serialised object, to be freed, with its length; NULL if it is longer than `limit`, or without memory.
char *json_serialise(struct json_object *object, size_t limit, size_t *size);

#endif
