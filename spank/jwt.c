// SPDX-License-Identifier: Apache-2.0
#include "jwt.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base64.h"
#include "json.h"
#include "limits.h"
#include "message.h"

#define CONTEXT "sack" // tokens that daemons make for themselves have "auth"

// Return the claims, which are between the two dots of a token; NULL if the token has another form, or if this part is
// not a JSON object in base64url.
static struct json_object *decode_claims(const char *token)
{
    static const char allowed[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_.";
    const char *first = strchr(token, '.');
    const char *second = first ? strchr(first + 1, '.') : NULL;
    size_t size = 0;
    if (!second || first == token || second[1] == '\0' || strchr(second + 1, '.') ||
        token[strspn(token, allowed)] != '\0') {
        return NULL;
    }
    char *text = base64_decode_url(first + 1, (size_t)(second - first - 1), &size);
    struct json_object *claims = text ? message_object(text, size, REPLY_CREDENTIAL_MAX) : NULL;
    free(text);
    return claims;
}

static int read_uid(struct json_object *claims, const char *name, uid_t *uid)
{
    struct json_object *value = NULL;
    if (!json_object_object_get_ex(claims, name, &value) || !json_object_is_type(value, json_type_int)) {
        return -1;
    }
    const int64_t number = json_object_get_int64(value);
    *uid = (uid_t)number;
    return number >= 0 && number < UINT32_MAX ? 0 : -1; // UINT32_MAX, which is (uid_t)-1, means "any user"
}

int jwt_read(const char *token, struct claims *claims)
{
    struct json_object *object = decode_claims(token);
    const char *context = message_text(object, "context", sizeof CONTEXT - 1);
    const char *payload = message_text(object, "payload", REPLY_CREDENTIAL_MAX);
    int result = -1;
    if (context && strcmp(context, CONTEXT) == 0 && payload && read_uid(object, "uid", &claims->author) == 0 &&
        read_uid(object, "ruid", &claims->reader) == 0) {
        claims->payload = base64_decode(payload, strlen(payload), &claims->payload_size);
        result = claims->payload ? 0 : -1;
    }
    json_object_put(object);
    return result;
}
