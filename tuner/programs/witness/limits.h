// SPDX-License-Identifier: Apache-2.0
// Limits of the data about a process. Data beyond a limit is counted in `lost`, or under "other".
#ifndef WITNESS_LIMITS_H
#define WITNESS_LIMITS_H

enum {
    CLASSES = 32,      // of sizes: class 0 is 0 bytes, class k is 2^(k-1) to 2^k - 1 bytes, the last is 1 GiB and more
    THREADS_MAX = 64,  // threads with separate counters at the same time; all other threads share the last counters
    MOUNTS_MAX = 16,   // file systems
    INPUTS_MAX = 64,   // files that are read, by name
    INPUT_PATH = 1024, // bytes of such a name; files with longer names are left out
    INPUT_BYTES = 1 << 20,  // smallest file to record; smaller files make no difference to a run, cached or not
    DESCRIPTORS_MAX = 4096, // files with higher numbers are not seen
    CELLS_MAX = 2048,       // combinations of kind, shape and class of collectives, and of peer and class of messages
    SHAPES_MAX = 256,       // different groups of ranks
    MEMBERS_MAX = 1 << 22,  // ranks in all groups together: 16 MiB
    COMMS_MAX = 1024,       // communicators that exist at the same time
    REQUESTS_MAX = 8192,    // requests that are pending at the same time
    CHANNELS_MAX = 8192,    // combinations of communicator, peer, tag and direction with numbered messages
    SAMPLES_MAX = 2048,     // calls with recorded times, for collectives and messages each
    // One of TIMED_EVERY calls on average is timed, if calls take less than WORTH_CLOCK times as long as reading the
    // clock.
    TIMED_EVERY = 16,
    WORTH_CLOCK = 100,
};

#endif
