// SPDX-License-Identifier: Apache-2.0
// Facts about a process that the kernel reports, collected at the end of the process.
#ifndef WITNESS_PROCESS_FACTS_H
#define WITNESS_PROCESS_FACTS_H

#include <stdint.h>

enum { LIBRARIES_MAX = 16, LIBRARY_BYTES = 64, AFFINITY_BYTES = 256 };

struct process_facts {
    uint64_t cpu_ns;      // CPU time of all threads, including those that have ended
    uint64_t system_ns;   // part of cpu_ns spent in the kernel
    uint64_t main_cpu_ns; // part of cpu_ns used by the first thread
    uint64_t fault_ns;    // time that a page fault takes, measured at the end
    long long minor_faults, major_faults, voluntary, involuntary;
    long long peak_rss; // largest resident memory, in bytes
    int threads;        // number of threads at the end
    int processors;     // number of processors that the process may run on
    int online;
    uint64_t rchar, wchar;            // bytes of all reads and writes, including those of pipes and sockets
    uint64_t read_bytes, write_bytes; // bytes read from and written to storage
    char affinity[AFFINITY_BYTES];    // list of processors, such as "0-3,8"; truncated if it is long
    int libraries;
    // names of the loaded libraries that matter for tuning: OpenMP, BLAS, allocators, HDF5, ...
    char library[LIBRARIES_MAX][LIBRARY_BYTES];
};

// Collect the facts. Libraries that an earlier call has found stay in the list, because Open MPI unloads UCX's
// libraries when MPI ends. Zero `facts` before the first call.
void process_facts_take(struct process_facts *facts);

#endif
