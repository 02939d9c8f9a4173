// SPDX-License-Identifier: Apache-2.0
#include "base64.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#define SHARED "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789"

// Decode up to four characters. Returns the number of bytes, or 0 if the characters are not canonical base64.
static size_t decode_group(const char *alphabet, const char *text, size_t size, char *bytes)
{
    uint32_t bits = 0;
    for (size_t i = 0; i < size; i++) {
        const char *at = text[i] ? strchr(alphabet, text[i]) : NULL;
        if (!at) {
            return 0;
        }
        bits |= (uint32_t)(at - alphabet) << (18 - 6 * i);
    }
    const size_t count = size * 6 / 8; // one character has too few bits for a byte
    for (size_t i = 0; i < count; i++) {
        bytes[i] = (char)(bits >> (16 - 8 * i));
    }
    return bits & (0xFFFFFFu >> (8 * count)) ? 0 : count;
}

static char *decode(const char *alphabet, const char *text, size_t size, size_t *decoded)
{
    char *bytes = malloc(size + 1);
    size_t count = 0;
    for (size_t i = 0; bytes && i < size; i += 4) {
        size_t more = decode_group(alphabet, text + i, size - i < 4 ? size - i : 4, bytes + count);
        if (more == 0) {
            free(bytes);
            return NULL;
        }
        count += more;
    }
    if (count == 0) {
        free(bytes);
        return NULL;
    }
    bytes[count] = '\0';
    *decoded = count;
    return bytes;
}

char *base64_decode(const char *text, size_t size, size_t *decoded)
{
    if (size == 0 || size % 4 != 0) {
        return NULL;
    }
    const size_t padding = text[size - 1] != '=' ? 0 : text[size - 2] != '=' ? 1 : 2;
    return decode(SHARED "+/", text, size - padding, decoded);
}

char *base64_decode_url(const char *text, size_t size, size_t *decoded)
{
    return decode(SHARED "-_", text, size, decoded);
}
