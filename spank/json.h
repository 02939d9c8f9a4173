// SPDX-License-Identifier: Apache-2.0
// Makes JSON from arbitrary bytes.
#ifndef REPRISE_JSON_H
#define REPRISE_JSON_H

#include <json-c/json.h>
#include <stdbool.h>
#include <stddef.h>

// True if the bytes are valid UTF-8. The check in json-c is not enough: it also accepts surrogates, overlong forms and
// code points beyond U+10FFFF.
bool json_is_utf8(const char *bytes, size_t size);

// Add `value` under `key`; the object takes ownership. Returns 0, or -1 if `value` is NULL or memory is short; the
// value is then released.
int json_put(struct json_object *object, const char *key, struct json_object *value);

// Append `value` to an array. Takes ownership and returns 0 or -1 as json_put does.
int json_append(struct json_object *array, struct json_object *value);

// True if `size` bytes of memory are available. json-c silently omits values that it has no memory for, so callers use
// json-c only if there is plenty of memory.
bool json_has_memory(size_t size);

// Return a JSON string made from bytes; each byte that is not UTF-8 becomes U+FFFD. NULL if memory is short.
struct json_object *json_text(const char *bytes, size_t size);

// Like json_text, but cut the string after a whole character so that it has at most `limit` bytes; set `*cut` if it was
// cut.
struct json_object *json_text_cut(const char *bytes, size_t size, size_t limit, bool *cut);

// Return the serialized object and set `*size` to its length; NULL if the text is longer than `limit`, or if memory is
// short. The caller must free the text.
char *json_serialise(struct json_object *object, size_t limit, size_t *size);

#endif
