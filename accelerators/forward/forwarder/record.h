// SPDX-License-Identifier: Apache-2.0
// The format of the journal on flash. A segment is a file: a header, then records at multiples of RECORD_ALIGN. A
// record is a delayed write with everything that is needed to execute it. A second file lists the sequence numbers of
// records that have been executed.
#ifndef FORWARDER_RECORD_H
#define FORWARDER_RECORD_H

#include <stdbool.h>
#include <stdint.h>

#define NONCE_BYTES 16
#define SEGMENT_HEADER_BYTES RECORD_ALIGN
#define RECORD_HEADER_BYTES 64U
#define DONE_BYTES 16U

// A record's fields. Texts are not terminated.
struct record {
    uint64_t sequence; // order of the writes
    uint64_t inode;
    uint64_t offset; // in the file
    uint32_t length; // of the data
    uint32_t user;
    uint16_t export_bytes;
    uint16_t path_bytes;
};

// The nonce is random and part of each checksum, so that a file's data cannot pass as records.
void segment_encode(uint8_t header[RECORD_HEADER_BYTES], const uint8_t nonce[NONCE_BYTES]);
bool segment_decode(const uint8_t header[RECORD_HEADER_BYTES], uint8_t nonce[NONCE_BYTES]);

// Encode a record's header. `export` and `path` follow it, then the data.
void record_encode(uint8_t header[RECORD_HEADER_BYTES], const struct record *record, const uint8_t nonce[NONCE_BYTES],
                   const char *export, const char *path, const uint8_t *data);

// Decode a record's header. Return false if it is none, or has impossible lengths.
bool record_decode(const uint8_t header[RECORD_HEADER_BYTES], struct record *record);

// Return whether a whole record of `bytes`, whose header was decoded, is intact.
bool record_intact(const uint8_t *whole, uint64_t bytes, const uint8_t nonce[NONCE_BYTES]);

// Return the size of a record without padding, and with it.
uint64_t record_bytes(const struct record *record);
uint64_t record_room(const struct record *record);

void done_encode(uint8_t entry[DONE_BYTES], uint64_t sequence, const uint8_t nonce[NONCE_BYTES]);
bool done_decode(const uint8_t entry[DONE_BYTES], uint64_t *sequence, const uint8_t nonce[NONCE_BYTES]);

#endif
