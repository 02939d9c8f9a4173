// SPDX-License-Identifier: Apache-2.0
// Facts that the kernel knows about a process at its end.
#ifndef WITNESS_PROCESS_FACTS_H
#define WITNESS_PROCESS_FACTS_H

#include <stdint.h>

enum { LIBRARIES_MAX = 16, LIBRARY_BYTES = 64, AFFINITY_BYTES = 256 };

struct process_facts {
    uint64_t cpu_ns;      // of all its threads, including ended ones
    uint64_t system_ns;   // part of it in the kernel
    uint64_t main_cpu_ns; // part of it in the first thread
    uint64_t fault_ns;    // cost of a page fault, measured at the end
    long long minor_faults, major_faults, voluntary, involuntary;
    long long peak_rss; // bytes
    int threads;        // at the end
    int processors;     // number of processors that it may run on
    int online;
    uint64_t rchar, wchar;            // bytes moved by all reads and writes, also of pipes and the like
    uint64_t read_bytes, write_bytes; // from and to storage
    char affinity[AFFINITY_BYTES];    // "0-3,8"; truncated if it is long
    int libraries;
    // names of the loaded libraries that matter for tuning: OpenMP, BLAS, allocators, HDF5, ...
    char library[LIBRARIES_MAX][LIBRARY_BYTES];
};

// Collect the facts. Libraries that an earlier call has found stay in the list: Open MPI unloads UCX's when MPI ends.
// Zero `facts` before the first call.
void process_facts_take(struct process_facts *facts);

#endif
