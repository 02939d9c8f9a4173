// SPDX-License-Identifier: Apache-2.0
#include "wire.h"

#include <endian.h>
#include <string.h>

#include "limits.h"

static const struct wire_kind kinds[] = {
    {.type = TSTATFS, .least = 11, .first_exists = true},
    {.type = TLOPEN, .least = 15, .first_exists = true},
    {.type = TLCREATE, .least = 25, .first_exists = true},
    {.type = TSYMLINK, .least = 19, .first_exists = true},
    {.type = TMKNOD, .least = 29, .first_exists = true},
    {.type = TRENAME, .least = 17, .first_exists = true, .second_exists = true},
    {.type = TREADLINK, .least = 11, .first_exists = true},
    {.type = TGETATTR, .least = 19, .first_exists = true},
    {.type = TSETATTR, .least = 67, .first_exists = true},
    {.type = TXATTRWALK, .least = 17, .first_exists = true, .creates_second = true},
    {.type = TXATTRCREATE, .least = 25, .first_exists = true},
    {.type = TREADDIR, .least = 23, .first_exists = true},
    {.type = TFSYNC, .least = 11, .first_exists = true},
    {.type = TLOCK, .least = 34, .first_exists = true},
    {.type = TGETLOCK, .least = 30, .first_exists = true},
    {.type = TLINK, .least = 17, .first_exists = true, .second_exists = true},
    {.type = TMKDIR, .least = 21, .first_exists = true},
    {.type = TRENAMEAT, .least = 19, .first_exists = true},
    {.type = TUNLINKAT, .least = 17, .first_exists = true},
    {.type = TVERSION, .least = 13},
    {.type = TAUTH, .least = 15, .creates_first = true},
    {.type = TATTACH, .least = 19, .creates_first = true},
    {.type = TFLUSH, .least = 9},
    {.type = TWALK, .least = 17, .first_exists = true, .creates_second = true},
    {.type = TREAD, .least = READ_BYTES, .first_exists = true},
    {.type = TWRITE, .least = WRITE_BYTES, .first_exists = true},
    {.type = TCLUNK, .least = 11, .first_exists = true},
    {.type = TREMOVE, .least = 11, .first_exists = true},
};

const struct wire_kind *wire_kind(uint8_t type)
{
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
        if (kinds[i].type == type) {
            return &kinds[i];
        }
    }
    return NULL;
}

uint16_t wire_get16(const uint8_t *from)
{
    uint16_t value;
    memcpy(&value, from, sizeof value);
    return le16toh(value);
}

uint32_t wire_get32(const uint8_t *from)
{
    uint32_t value;
    memcpy(&value, from, sizeof value);
    return le32toh(value);
}

uint64_t wire_get64(const uint8_t *from)
{
    uint64_t value;
    memcpy(&value, from, sizeof value);
    return le64toh(value);
}

void wire_put16(uint8_t *to, uint16_t value)
{
    value = htole16(value);
    memcpy(to, &value, sizeof value);
}

void wire_put32(uint8_t *to, uint32_t value)
{
    value = htole32(value);
    memcpy(to, &value, sizeof value);
}

void wire_put64(uint8_t *to, uint64_t value)
{
    value = htole64(value);
    memcpy(to, &value, sizeof value);
}

const char *wire_string(const uint8_t *message, uint32_t length, uint32_t *position, uint16_t *bytes)
{
    if (*position > length || length - *position < 2) {
        return NULL;
    }
    *bytes = wire_get16(message + *position);
    if (length - *position - 2 < *bytes) {
        return NULL;
    }
    const char *text = (const char *)message + *position + 2;
    *position += 2U + *bytes;
    return text;
}

uint32_t wire_second_directory(const uint8_t *message, uint32_t length)
{
    uint32_t position = 11;
    uint16_t bytes;
    if (!wire_string(message, length, &position, &bytes) || length - position < 6) {
        return 0;
    }
    return position;
}

static bool strings_fit(const uint8_t *message, uint32_t length, uint32_t position, unsigned count)
{
    uint16_t bytes;
    while (count--) {
        if (!wire_string(message, length, &position, &bytes)) {
            return false;
        }
    }
    return true;
}

bool wire_valid(const struct wire_kind *kind, const uint8_t *message, uint32_t length)
{
    if (length < kind->least) {
        return false;
    }
    switch (kind->type) {
    case TWRITE:
        return wire_get32(message + 19) == length - WRITE_BYTES;
    case TREAD:
        return length == READ_BYTES;
    case TWALK: {
        const uint16_t names = wire_get16(message + 15);
        return names <= WALK_NAMES_MAX && strings_fit(message, length, 17, names);
    }
    case TVERSION:
    case TLCREATE:
    case TUNLINKAT:
        return strings_fit(message, length, 11, 1);
    case TAUTH:
        return strings_fit(message, length, 11, 2);
    case TATTACH:
        return strings_fit(message, length, 15, 2);
    case TRENAME:
    case TLINK:
        return strings_fit(message, length, 15, 1);
    case TRENAMEAT:
        return wire_second_directory(message, length) != 0;
    default:
        return true;
    }
}
