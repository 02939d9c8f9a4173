// SPDX-License-Identifier: Apache-2.0
// Messages of 9P2000.L: functions that write and read them. All numbers in a message
// are little-endian. A message is size[4] type[1] tag[2] and the fields of its type. The functions have no side effects
// other than changing their arguments.
#ifndef FORWARD_MESSAGE_H
#define FORWARD_MESSAGE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "../nine.h"

#define MESSAGE_HEADER 7        // bytes of size, type and tag
#define MESSAGE_TWRITE_BYTES 23 // bytes of a Twrite before its data
#define MESSAGE_RREAD_BYTES 11  // bytes of an Rread before its data, of an Rwrite, and of an Rlerror
#define MESSAGE_NO_TAG 0xffffU
#define MESSAGE_NO_FID 0xffffffffU
#define MESSAGE_GETATTR_BASIC 0x7ffULL // all fields that stat(2) has

struct message {
    uint8_t *begin;
    uint8_t *at;
    uint8_t *end;
    bool bad; // a field did not fit, or was not there
};

static inline void message_put(struct message *message, uint64_t value, unsigned bytes)
{
    if ((size_t)(message->end - message->at) < bytes) {
        message->bad = true;
        return;
    }
    for (; bytes; bytes--, value >>= 8) {
        *message->at++ = (uint8_t)value;
    }
}

static inline void message_put_string(struct message *message, const char *text, size_t length)
{
    message_put(message, length, 2);
    if (length > UINT16_MAX || (size_t)(message->end - message->at) < length) {
        message->bad = true;
        return;
    }
    memcpy(message->at, text, length);
    message->at += length;
}

static inline void message_begin(struct message *message, uint8_t *buffer, size_t size, enum nine_type type,
                                 uint16_t tag)
{
    *message = (struct message){buffer, buffer, buffer + size, false};
    message_put(message, 0, 4);
    message_put(message, type, 1);
    message_put(message, tag, 2);
}

// Write the size of a message, to which `more` bytes are appended when it is sent. Returns the size without these
// bytes; 0 if the message is bad.
static inline size_t message_end(struct message *message, size_t more)
{
    const size_t size = (size_t)(message->at - message->begin);
    struct message front = {message->begin, message->begin, message->begin + 4, false};
    message_put(&front, size + more, 4);
    return message->bad ? 0 : size;
}

static inline struct message message_of(uint8_t *bytes, size_t size)
{
    return (struct message){bytes, bytes, bytes + size, false};
}

static inline uint64_t message_get(struct message *message, unsigned bytes)
{
    uint64_t value = 0;
    if ((size_t)(message->end - message->at) < bytes) {
        message->bad = true;
        message->at = message->end;
        return 0;
    }
    for (unsigned i = 0; i < bytes; i++) {
        value |= (uint64_t)*message->at++ << (8 * i);
    }
    return value;
}

// Read a qid, type[1] version[4] path[8], and return its path, which is the number of the file's inode.
static inline uint64_t message_get_qid(struct message *message)
{
    message_get(message, 5);
    return message_get(message, 8);
}

// Return whether the next field is the string `text`.
static inline bool message_get_is(struct message *message, const char *text)
{
    const size_t length = message_get(message, 2);
    const bool is = !message->bad && (size_t)(message->end - message->at) >= length && length == strlen(text) &&
                    memcmp(message->at, text, length) == 0;
    message->at = is ? message->at + length : message->at;
    return is;
}

#endif
