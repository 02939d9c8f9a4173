// SPDX-License-Identifier: Apache-2.0
#include "envelope.h"

#include <stdlib.h>
#include <string.h>

char *envelope_make(const unsigned char *nonce, const char *text, size_t size, size_t *envelope_size)
{
    char *envelope = malloc(NONCE_SIZE + size);
    if (envelope) {
        memcpy(envelope, nonce, NONCE_SIZE);
        memcpy(envelope + NONCE_SIZE, text, size);
        *envelope_size = NONCE_SIZE + size;
    }
    return envelope;
}

const char *envelope_text(const unsigned char *nonce, const char *envelope, size_t envelope_size, size_t *size)
{
    if (envelope_size <= NONCE_SIZE || memcmp(envelope, nonce, NONCE_SIZE) != 0) {
        return NULL;
    }
    *size = envelope_size - NONCE_SIZE;
    return envelope + NONCE_SIZE;
}
