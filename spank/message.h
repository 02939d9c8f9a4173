// SPDX-License-Identifier: Apache-2.0
// Checks incoming messages of the protocol. Their JSON is trusted only as far as these functions have checked it.
#ifndef REPRISE_MESSAGE_H
#define REPRISE_MESSAGE_H

#include <json-c/json.h>
#include <stdbool.h>
#include <stddef.h>

// Parse a text of at most `limit` bytes that consists of one JSON object; NULL for anything else.
struct json_object *message_object(const char *text, size_t size, size_t limit);

// Parse a text that consists of one JSON object of version PROTOCOL_VERSION; NULL for anything else.
struct json_object *message_parse(const char *text, size_t size);

// Return the text of a JSON string of at most `limit` bytes that contains no NUL; NULL for anything else.
const char *message_text_of(struct json_object *value, size_t limit);

// Return the text of the string under `key`, by the rules of message_text_of.
const char *message_text(struct json_object *message, const char *key, size_t limit);

// True if the kind of a message is `kind`.
bool message_is(struct json_object *message, const char *kind);

// Return the path of the program that an `ok` reply asks the plugin to identify; NULL if the reply does not ask for a
// program, or is not an `ok`. The caller must free the path.
char *message_asks_about(const char *text, size_t size);

#endif
