// SPDX-License-Identifier: Apache-2.0
// Incoming messages of the protocol: JSON that is trusted only as far as these functions have checked it.
#ifndef REPRISE_MESSAGE_H
#define REPRISE_MESSAGE_H

#include <json-c/json.h>
#include <stdbool.h>
#include <stddef.h>

// Parse one JSON object of version PROTOCOL_VERSION and nothing after it; NULL for anything else.
struct json_object *message_parse(const char *text, size_t size);

// The text of a string of at most `limit` bytes that holds no NUL; NULL for anything else.
const char *message_text_of(struct json_object *value, size_t limit);

// The text of the string under `key`, by the rules of message_text_of.
const char *message_text(struct json_object *message, const char *key, size_t limit);

// True if the message is of this kind.
bool message_is(struct json_object *message, const char *kind);

// The path of the program that an `ok` asks about, to be freed; NULL if it asks nothing, or is no `ok`.
char *message_asks_about(const char *text, size_t size);

#endif
