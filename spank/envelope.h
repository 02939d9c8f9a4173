// SPDX-License-Identifier: Apache-2.0
// The payload of a credential: a nonce, then a message. A reply repeats the nonce of its request.
#ifndef REPRISE_ENVELOPE_H
#define REPRISE_ENVELOPE_H

#include <stddef.h>

#include "limits.h"

// The nonce and `size` bytes of text, to be freed; NULL without memory.
char *envelope_make(const unsigned char *nonce, const char *text, size_t size, size_t *envelope_size);

// The text of a reply, inside `envelope`; NULL if it does not answer the request with this nonce.
const char *envelope_text(const unsigned char *nonce, const char *envelope, size_t envelope_size, size_t *size);

#endif
