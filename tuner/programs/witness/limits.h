// SPDX-License-Identifier: Apache-2.0
// Limits on the data that is kept about a process. Data beyond a limit is counted in `lost`, or under "other".
#ifndef WITNESS_LIMITS_H
#define WITNESS_LIMITS_H

enum {
    // classes of sizes: class 0 is 0 bytes, class k is 2^(k-1) to 2^k - 1 bytes, and the last class is 1 GiB and more
    CLASSES = 32,
    THREADS_MAX = 64,  // concurrent threads with their own counters; all further threads share the last set of counters
    MOUNTS_MAX = 16,   // file systems with separate counters
    INPUTS_MAX = 64,   // files whose names are recorded because they are read
    INPUT_PATH = 1024, // bytes of a recorded file's name; files with longer names are left out
    INPUT_BYTES = 1 << 20,  // smallest file to record; whether a smaller file is cached makes no difference to a run
    DESCRIPTORS_MAX = 4096, // accesses through descriptors from this number on are not counted
    CELLS_MAX = 2048,      // cells for collectives (one per kind, shape, class), and for messages (one per peer, class)
    SHAPES_MAX = 256,      // different groups of ranks that are recorded
    MEMBERS_MAX = 1 << 22, // total number of ranks in all groups, which take 16 MiB
    COMMS_MAX = 1024,      // communicators that exist at the same time
    REQUESTS_MAX = 8192,   // requests that are pending at the same time
    CHANNELS_MAX = 8192,   // combinations of communicator, peer, tag and direction with numbered messages
    SAMPLES_MAX = 2048,    // maximum number of collectives with recorded times; the same limit applies to messages
    // If calls take less than WORTH_CLOCK times as long as reading the clock, only one in TIMED_EVERY calls is timed,
    // on average.
    TIMED_EVERY = 16,
    WORTH_CLOCK = 100,
};

#endif
