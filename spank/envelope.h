// SPDX-License-Identifier: Apache-2.0
// The payload of a credential: a nonce, then a message. A reply repeats the nonce of its request.
#ifndef REPRISE_ENVELOPE_H
#define REPRISE_ENVELOPE_H

#include <stddef.h>

#include "limits.h"

// Return the nonce followed by `size` bytes of text; NULL if memory is short. The caller must free the result.
char *envelope_make(const unsigned char *nonce, const char *text, size_t size, size_t *envelope_size);

// Return the text of a reply, a pointer into `envelope`; NULL if the reply does not repeat this nonce and thus answers
// another request.
const char *envelope_text(const unsigned char *nonce, const char *envelope, size_t envelope_size, size_t *size);

#endif
