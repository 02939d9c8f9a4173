// SPDX-License-Identifier: Apache-2.0
// What the kernel knows of a process at its end.
#ifndef WITNESS_PROCESS_FACTS_H
#define WITNESS_PROCESS_FACTS_H

#include <stdint.h>

enum { LIBRARIES_MAX = 16, LIBRARY_BYTES = 64, AFFINITY_BYTES = 256 };

struct process_facts {
    uint64_t cpu_ns;      // of all its threads, those that ended too
    uint64_t system_ns;   // of that, in the kernel
    uint64_t main_cpu_ns; // of its first thread
    uint64_t fault_ns;    // what a page fault costs here, as measured just now
    long long minor_faults, major_faults, voluntary, involuntary;
    long long peak_rss; // bytes
    int threads;        // at the end
    int processors;     // that it may run on
    int online;
    uint64_t rchar, wchar;            // bytes by read and write of any sort, of files or not
    uint64_t read_bytes, write_bytes; // from and to storage
    char affinity[AFFINITY_BYTES];    // "0-3,8"; cut off where it is long
    int libraries;
    char library[LIBRARIES_MAX][LIBRARY_BYTES]; // of those that matter for tuning: OpenMP, BLAS, allocators, HDF5, ...
};

// Libraries that an earlier call has found stay: Open MPI unloads UCX's when MPI ends. Zero `facts` before the first.
void process_facts_take(struct process_facts *facts);

#endif
