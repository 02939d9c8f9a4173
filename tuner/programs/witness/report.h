// SPDX-License-Identifier: Apache-2.0
// Writes the profile of a process to a file.
#ifndef WITNESS_REPORT_H
#define WITNESS_REPORT_H

// Write a report of all counts so far, completely or not at all. The report replaces an earlier one. Nothing is written
// for a process without MPI that ran only briefly, or in a child that shares its parent's memory.
void report_write(void);

#endif
