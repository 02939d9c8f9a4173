// SPDX-License-Identifier: Apache-2.0
// The wire format of 9P2000.L: numbers are little-endian; a message is size[4] type[1] tag[2] and its fields.
#ifndef FORWARDER_WIRE_H
#define FORWARDER_WIRE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "../nine.h"

#define HEADER_BYTES 7U
#define QID_BYTES 13U
#define READ_REPLY_BYTES 11U // of an Rread, before the data
#define WRITE_BYTES 23U      // of a Twrite, before the data
#define READ_BYTES 23U       // of a Tread
#define OVERHEAD_BYTES 24U   // that msize minus the largest payload amounts to, by convention
#define GETATTR_QID 15U      // offset of the qid in an Rgetattr
#define GETATTR_MODE 28U     // offset of the mode in an Rgetattr
#define GETATTR_SIZE 56U     // offset of the size in an Rgetattr
#define GETATTR_REPLY_BYTES 160U
#define NO_FID 0xFFFFFFFFU
#define NO_TAG 0xFFFFU
#define QID_DIRECTORY 0x80U

// Bits of the flags in Tlopen and Tlcreate.
#define OPEN_ACCESS 03U
#define OPEN_TRUNCATE 01000U
#define OPEN_APPEND 02000U
#define OPEN_DSYNC 010000U
#define OPEN_DIRECT 040000U
#define OPEN_SYNC 04000000U

// Fids in a request: position, and whether the request creates the fid.
struct wire_kind {
    uint8_t type;
    uint8_t least;      // smallest size of a valid message
    bool first_exists;  // the field at offset 7 is an existing fid
    bool second_exists; // the field at offset 11 is an existing fid
    bool creates_first; // the field at offset 7 is a new fid
    bool creates_second;
};

// Return the description of a request's type; NULL if 9P2000.L has no such request.
const struct wire_kind *wire_kind(uint8_t type);

uint16_t wire_get16(const uint8_t *from);
uint32_t wire_get32(const uint8_t *from);
uint64_t wire_get64(const uint8_t *from);
void wire_put16(uint8_t *to, uint16_t value);
void wire_put32(uint8_t *to, uint32_t value);
void wire_put64(uint8_t *to, uint64_t value);

// Read the string at `*position` in a message of `length` bytes, and move the position behind it.
// Return its first byte, with its length in `*bytes`; NULL if the message ends before the string does.
const char *wire_string(const uint8_t *message, uint32_t length, uint32_t *position, uint16_t *bytes);

// Return the position of the second fid of a Trenameat; 0 if the message is malformed.
uint32_t wire_second_directory(const uint8_t *message, uint32_t length);

// Return whether a request's size and inner lengths are valid. `length` is the message's size.
bool wire_valid(const struct wire_kind *kind, const uint8_t *message, uint32_t length);

#endif
