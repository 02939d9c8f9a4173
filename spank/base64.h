// SPDX-License-Identifier: Apache-2.0
// Decodes base64 (RFC 4648), and accepts only the canonical encoding of each text.
#ifndef REPRISE_BASE64_H
#define REPRISE_BASE64_H

#include <stddef.h>

// Return the decoded bytes of `size` characters, followed by a NUL, and set `*decoded` to their number. Returns NULL if
// the text is empty, contains other characters, has wrong padding, or sets unused bits, or if memory is short. The
// caller must free the bytes.
char *base64_decode(const char *text, size_t size, size_t *decoded);     // section 4, padded with =
char *base64_decode_url(const char *text, size_t size, size_t *decoded); // section 5, with - and _, without padding

#endif
