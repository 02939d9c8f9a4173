// SPDX-License-Identifier: Apache-2.0
// What is inside a credential: a number that is used once, then a message. A reply repeats its request's number.
#ifndef REPRISE_ENVELOPE_H
#define REPRISE_ENVELOPE_H

#include <stddef.h>

#include "limits.h"

// The number and `size` bytes of text, to be freed; NULL without memory.
char *envelope_make(const unsigned char *nonce, const char *text, size_t size, size_t *envelope_size);

// The text of a reply, in `envelope`; NULL if it is none to the request with this number.
const char *envelope_text(const unsigned char *nonce, const char *envelope, size_t envelope_size, size_t *size);

#endif
