// SPDX-License-Identifier: Apache-2.0
// A process's profile as a file.
#ifndef WITNESS_REPORT_H
#define WITNESS_REPORT_H

// Write all counts so far, completely or not at all, over an earlier report. Writes nothing in a process that has done
// nothing worth a file, or in a child that shares its parent's memory.
void report_write(void);

#endif
