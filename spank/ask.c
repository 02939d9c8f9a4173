// SPDX-License-Identifier: Apache-2.0
#include "ask.h"

#include <stdlib.h>

#include "message.h"

// Send `request` and receive the reply. Frees `request`. Returns CLIENT_FAILED if `request` is NULL.
static enum client_result exchange(const struct matcher *matcher, nanoseconds deadline, char *request, size_t size,
                                   char **reply, size_t *reply_size)
{
    *reply = NULL;
    if (!request) {
        return CLIENT_FAILED;
    }
    enum client_result result = client_exchange(matcher, deadline, request, size, reply, reply_size);
    free(request);
    return result;
}

enum client_result ask_decision(const struct matcher *matcher, nanoseconds deadline, const struct question *question,
                                struct decision *decision)
{
    size_t size = 0;
    size_t reply_size = 0;
    char *reply = NULL;
    char *request = request_decide(question, &size);
    enum client_result result = exchange(matcher, deadline, request, size, &reply, &reply_size);
    if (result == CLIENT_OK && decision_from_reply(decision, reply, reply_size)) {
        result = CLIENT_BROKEN;
    }
    free(reply);
    if (result != CLIENT_OK) {
        decision->verdict = VERDICT_UNREACHABLE;
    }
    return result;
}

char *ask_to_note(const struct matcher *matcher, nanoseconds deadline, const struct outcome *outcome)
{
    size_t size = 0;
    size_t reply_size = 0;
    char *reply = NULL;
    char *path = NULL;
    char *request = request_outcome(outcome, &size);
    if (exchange(matcher, deadline, request, size, &reply, &reply_size) == CLIENT_OK) {
        path = message_asks_about(reply, reply_size);
    }
    free(reply);
    return path;
}

void ask_to_take(const struct matcher *matcher, nanoseconds deadline, char *request, size_t size)
{
    size_t reply_size = 0;
    char *reply = NULL;
    exchange(matcher, deadline, request, size, &reply, &reply_size);
    free(reply);
}
