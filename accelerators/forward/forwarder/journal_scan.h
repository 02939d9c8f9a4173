// SPDX-License-Identifier: Apache-2.0
// Finds the records that an earlier forwarder left in the journal.
#ifndef FORWARDER_JOURNAL_SCAN_H
#define FORWARDER_JOURNAL_SCAN_H

#include "journal.h"

#define SEGMENT_NAME_BYTES 48

// Store the name of a segment's file, or of the file with its done records.
void segment_name(char name[SEGMENT_NAME_BYTES], uint64_t number, bool done);

// Read all segments into the journal, and report their records that are intact and not done. Return 0; -1 with errno.
int journal_scan(struct journal *journal, journal_found *found, void *own);

#endif
