// SPDX-License-Identifier: Apache-2.0
// A process's profile as a file.
#ifndef WITNESS_REPORT_H
#define WITNESS_REPORT_H

// Writes all that was counted so far, whole or not at all, over what was written before. Nothing in a process that has
// done nothing worth a file, and in a child that shares its parent's memory.
void report_write(void);

#endif
