// SPDX-License-Identifier: Apache-2.0
// Fuzz the data from a peer: a frame that contains the envelope of a reply. The input begins with the request's nonce.
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "../../spank/envelope.h"
#include "../../spank/stream.h"
#include "harness.h"

#define LIMIT 4096 // smaller than all limits in limits.h, so that inputs beyond the limit are small

static void check_envelope(const unsigned char *nonce, const char *envelope, size_t envelope_size)
{
    size_t size = 0;
    size_t again_size = 0;
    const char *text = envelope_text(nonce, envelope, envelope_size, &size);
    if (!text) {
        MUST(envelope_size <= NONCE_SIZE || memcmp(envelope, nonce, NONCE_SIZE) != 0);
        return;
    }
    char *again = envelope_make(nonce, text, size, &again_size);
    MUST(again && again_size == envelope_size && memcmp(again, envelope, again_size) == 0);
    free(again);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    int ends[2];
    char *body = NULL;
    size_t body_size = 0;
    if (size < NONCE_SIZE || size > NONCE_SIZE + 2 * LIMIT || socketpair(AF_UNIX, SOCK_STREAM, 0, ends)) {
        return 0;
    }
    const size_t sent = size - NONCE_SIZE;
    MUST(sent == 0 || send(ends[1], data + NONCE_SIZE, sent, MSG_NOSIGNAL) == (ssize_t)sent);
    close(ends[1]);
    enum client_result result = stream_receive_frame(ends[0], LIMIT, deadline_in_ms(1000), &body, &body_size);
    MUST(result == CLIENT_OK || result == CLIENT_BROKEN);
    MUST((result == CLIENT_OK) == (body != NULL));
    if (body) {
        MUST(body_size > 0 && body_size <= LIMIT && body_size + 4 <= sent && body[body_size] == '\0');
        MUST(memcmp(body, data + NONCE_SIZE + 4, body_size) == 0);
        check_envelope(data, body, body_size);
    }
    free(body);
    close(ends[0]);
    return 0;
}
