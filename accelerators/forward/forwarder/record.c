// SPDX-License-Identifier: Apache-2.0
#include "limits.h"

#include "record.h"

#include <string.h>
#include <zlib.h>

#include "wire.h"

#define SEGMENT_MAGIC 0x31474553U // "SEG1"
#define RECORD_MAGIC 0x31434552U  // "REC1"

static uint32_t sum(uint32_t before, const void *bytes, uint64_t length)
{
    return (uint32_t)crc32_z(before, bytes, length);
}

void segment_encode(uint8_t header[RECORD_HEADER_BYTES], const uint8_t nonce[NONCE_BYTES])
{
    memset(header, 0, RECORD_HEADER_BYTES);
    wire_put32(header, SEGMENT_MAGIC);
    memcpy(header + 8, nonce, NONCE_BYTES);
    wire_put32(header + 4, sum(0, header + 8, RECORD_HEADER_BYTES - 8));
}

bool segment_decode(const uint8_t header[RECORD_HEADER_BYTES], uint8_t nonce[NONCE_BYTES])
{
    memcpy(nonce, header + 8, NONCE_BYTES);
    return wire_get32(header) == SEGMENT_MAGIC && wire_get32(header + 4) == sum(0, header + 8, RECORD_HEADER_BYTES - 8);
}

void record_encode(uint8_t header[RECORD_HEADER_BYTES], const struct record *record, const uint8_t nonce[NONCE_BYTES],
                   const char *export, const char *path, const uint8_t *data)
{
    memset(header, 0, RECORD_HEADER_BYTES);
    wire_put32(header, RECORD_MAGIC);
    wire_put64(header + 8, record->sequence);
    wire_put64(header + 16, record->inode);
    wire_put64(header + 24, record->offset);
    wire_put32(header + 32, record->length);
    wire_put32(header + 36, record->user);
    wire_put16(header + 40, record->export_bytes);
    wire_put16(header + 42, record->path_bytes);
    uint32_t checksum = sum(0, nonce, NONCE_BYTES);
    checksum = sum(checksum, header + 8, RECORD_HEADER_BYTES - 8);
    checksum = sum(checksum, export, record->export_bytes);
    checksum = sum(checksum, path, record->path_bytes);
    wire_put32(header + 4, sum(checksum, data, record->length));
}

bool record_decode(const uint8_t header[RECORD_HEADER_BYTES], struct record *record)
{
    *record = (struct record){.sequence = wire_get64(header + 8),
                              .inode = wire_get64(header + 16),
                              .offset = wire_get64(header + 24),
                              .length = wire_get32(header + 32),
                              .user = wire_get32(header + 36),
                              .export_bytes = wire_get16(header + 40),
                              .path_bytes = wire_get16(header + 42)};
    return wire_get32(header) == RECORD_MAGIC && record->length && record->length <= MSIZE_MAX &&
           record->path_bytes < PATH_BYTES_MAX && record->offset <= (uint64_t)INT64_MAX - record->length;
}

bool record_intact(const uint8_t *whole, uint64_t bytes, const uint8_t nonce[NONCE_BYTES])
{
    const uint32_t checksum = sum(0, nonce, NONCE_BYTES);
    return wire_get32(whole + 4) == sum(checksum, whole + 8, bytes - 8);
}

uint64_t record_bytes(const struct record *record)
{
    return (uint64_t)RECORD_HEADER_BYTES + record->export_bytes + record->path_bytes + record->length;
}

uint64_t record_room(const struct record *record)
{
    return (record_bytes(record) + RECORD_ALIGN - 1) / RECORD_ALIGN * RECORD_ALIGN;
}

void done_encode(uint8_t entry[DONE_BYTES], uint64_t sequence, const uint8_t nonce[NONCE_BYTES])
{
    wire_put64(entry, sequence);
    wire_put32(entry + 8, sum(sum(0, nonce, NONCE_BYTES), entry, 8));
    wire_put32(entry + 12, 0);
}

bool done_decode(const uint8_t entry[DONE_BYTES], uint64_t *sequence, const uint8_t nonce[NONCE_BYTES])
{
    *sequence = wire_get64(entry);
    return wire_get32(entry + 8) == sum(sum(0, nonce, NONCE_BYTES), entry, 8);
}
