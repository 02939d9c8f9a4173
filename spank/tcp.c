// SPDX-License-Identifier: Apache-2.0
#define _GNU_SOURCE
#include "tcp.h"

#include <fcntl.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <unistd.h>

#include "apart.h"
#include "credential.h"
#include "envelope.h"
#include "limits.h"
#include "stream.h"

struct call {
    const struct matcher *matcher;
    const struct endpoint *endpoint;
    nanoseconds deadline;
    const char *request;
    size_t size;
};

static int connect_blocking(const struct addrinfo *address)
{
    const int yes = 1;
    int fd = socket(address->ai_family, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (fd < 0) {
        return -1;
    }
    if (connect(fd, address->ai_addr, address->ai_addrlen) || fcntl(fd, F_SETFL, O_NONBLOCK)) {
        close(fd);
        return -1;
    }
    setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &yes, sizeof yes); // otherwise a frame may be delayed by 40 ms
    return fd;
}

static int connect_to(const struct endpoint *endpoint)
{
    const struct addrinfo wanted = {.ai_socktype = SOCK_STREAM, .ai_flags = AI_NUMERICSERV};
    struct addrinfo *found = NULL;
    int fd = -1;
    if (getaddrinfo(endpoint->host, endpoint->port, &wanted, &found)) {
        return -1;
    }
    for (const struct addrinfo *address = found; fd < 0 && address; address = address->ai_next) {
        fd = connect_blocking(address);
    }
    freeaddrinfo(found);
    return fd;
}

static enum client_result seal(const struct call *call, const struct credential_method *method,
                               const unsigned char *nonce, char **credential)
{
    size_t size = 0;
    char *payload = envelope_make(nonce, call->request, call->size, &size);
    if (!payload) {
        return CLIENT_FAILED;
    }
    enum client_result result =
        method->make(&call->matcher->credential, call->matcher->uid, payload, size, call->deadline, credential);
    free(payload);
    return result;
}

static enum client_result unseal(const struct call *call, const struct credential_method *method,
                                 const unsigned char *nonce, const char *credential, char **reply, size_t *reply_size)
{
    size_t size = 0;
    size_t text_size = 0;
    uid_t uid = 0;
    char *payload = NULL;
    enum client_result result =
        method->open(&call->matcher->credential, credential, call->deadline, &payload, &size, &uid);
    if (result != CLIENT_OK) {
        return result;
    }
    const char *text = uid == call->matcher->uid ? envelope_text(nonce, payload, size, &text_size) : NULL;
    result = CLIENT_UNTRUSTED;
    if (text && text_size <= REPLY_MAX) {
        *reply = malloc(text_size);
        result = *reply ? CLIENT_OK : CLIENT_FAILED;
    }
    if (result == CLIENT_OK) {
        memcpy(*reply, text, text_size);
        *reply_size = text_size;
    }
    free(payload);
    return result;
}

// Exchange a request and a reply over a connection.
static enum client_result converse_over(int fd, const struct call *call, const struct credential_method *method,
                                        char **reply, size_t *reply_size)
{
    unsigned char nonce[NONCE_SIZE];
    char *sealed = NULL;
    char *answer = NULL;
    size_t answer_size = 0;
    enum client_result result =
        getrandom(nonce, sizeof nonce, 0) == sizeof nonce ? seal(call, method, nonce, &sealed) : CLIENT_FAILED;
    if (result == CLIENT_OK) {
        result = stream_send_frame(fd, sealed, strlen(sealed), call->deadline);
    }
    if (result == CLIENT_OK) {
        result = stream_receive_frame(fd, REPLY_CREDENTIAL_MAX, call->deadline, &answer, &answer_size);
    }
    if (result == CLIENT_OK) {
        result = unseal(call, method, nonce, answer, reply, reply_size);
    }
    free(answer);
    free(sealed);
    return result;
}

// Exchange a request and a reply. Runs in a child process, because the time that name lookup, connect(2) and munge take
// is not bounded.
static enum client_result converse(const void *what, char **reply, size_t *reply_size)
{
    const struct call *call = what;
    const struct credential_method *method = credential_choose(&call->matcher->credential);
    int fd = method ? connect_to(call->endpoint) : -1;
    if (fd < 0) {
        return method ? CLIENT_ABSENT : CLIENT_NO_CREDENTIAL;
    }
    enum client_result result = converse_over(fd, call, method, reply, reply_size);
    close(fd);
    return result;
}

enum client_result tcp_exchange(const struct matcher *matcher, const struct endpoint *endpoint, nanoseconds deadline,
                                const char *request, size_t size, char **reply, size_t *reply_size)
{
    const struct call call = {
        .matcher = matcher, .endpoint = endpoint, .deadline = deadline, .request = request, .size = size};
    return apart_do(converse, &call, REPLY_MAX, deadline, reply, reply_size);
}
