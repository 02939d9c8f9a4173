// SPDX-License-Identifier: Apache-2.0
#include "message.h"

#include <stdlib.h>

#include "wire.h"

struct message *message_new(uint32_t length, uint8_t type, uint16_t tag)
{
    struct message *message = malloc(sizeof *message + (length > HEADER_BYTES ? length : HEADER_BYTES));
    if (message) {
        message->references = 1;
        message->length = length;
        wire_put32(message->bytes, length);
        message->bytes[4] = type;
        wire_put16(message->bytes + 5, tag);
    }
    return message;
}

struct message *message_share(struct message *message)
{
    message->references++;
    return message;
}

void message_release(struct message *message)
{
    if (message && --message->references == 0) {
        free(message);
    }
}
