// SPDX-License-Identifier: Apache-2.0
// Decodes base64 (RFC 4648), in its only correct spelling.
#ifndef REPRISE_BASE64_H
#define REPRISE_BASE64_H

#include <stddef.h>

// Return the decoded bytes of `size` characters, with a NUL after them, to be freed, and set `*decoded`. NULL if the
// text is empty, has another character, wrong padding or unused bits that are set, or if memory is short.
char *base64_decode(const char *text, size_t size, size_t *decoded);     // section 4, padded with =
char *base64_decode_url(const char *text, size_t size, size_t *decoded); // section 5, with - and _, without padding

#endif
