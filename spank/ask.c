// SPDX-License-Identifier: Apache-2.0
#include "ask.h"

#include <stdlib.h>

static enum client_result exchange(const struct settings *settings, char *request, size_t size, char **reply,
                                   size_t *reply_size)
{
    *reply = NULL;
    if (!request) {
        return CLIENT_FAILED;
    }
    enum client_result result =
        client_exchange(settings->socket, deadline_in_ms(settings->deadline_ms), request, size, reply, reply_size);
    free(request);
    return result;
}

enum client_result ask_decision(const struct settings *settings, const struct submission *submission, enum mode mode,
                                const char *slurm_version, const struct job *job, struct decision *decision)
{
    size_t size = 0;
    size_t reply_size = 0;
    char *reply = NULL;
    char *request = request_decide(submission, mode, slurm_version, job, &size);
    enum client_result result = exchange(settings, request, size, &reply, &reply_size);
    if (result == CLIENT_OK && decision_from_reply(decision, reply, reply_size)) {
        result = CLIENT_BROKEN;
    }
    free(reply);
    if (result != CLIENT_OK) {
        decision->verdict = VERDICT_UNREACHABLE;
    }
    return result;
}

enum client_result ask_to_note(const struct settings *settings, const struct outcome *outcome)
{
    size_t size = 0;
    size_t reply_size = 0;
    char *reply = NULL;
    char *request = request_outcome(outcome, &size);
    enum client_result result = exchange(settings, request, size, &reply, &reply_size);
    free(reply);
    return result;
}
