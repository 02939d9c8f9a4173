// SPDX-License-Identifier: Apache-2.0
// All that is kept of a process is bounded. What has no place any more is counted in `lost`, or under "other".
#ifndef WITNESS_LIMITS_H
#define WITNESS_LIMITS_H

enum {
    CLASSES = 32,      // of sizes: class k holds 2^(k-1) to 2^k - 1 bytes, class 0 none; 1 GiB and more are the last
    THREADS_MAX = 64,  // with counters of their own at the same time; the others share the last one's
    MOUNTS_MAX = 16,   // file systems
    INPUTS_MAX = 64,   // files that are read, by name
    INPUT_PATH = 1024, // bytes of such a name; longer ones are left out
    INPUT_BYTES = 1 << 20,  // smaller files make no difference to a run, in memory or not
    DESCRIPTORS_MAX = 4096, // files under higher numbers are not seen
    CELLS_MAX = 2048,       // kinds x shapes of communicators x classes of collectives; peers x classes of messages
    SHAPES_MAX = 256,       // different groups of ranks
    MEMBERS_MAX = 1 << 22,  // ranks in all groups together: 16 MiB
    COMMS_MAX = 1024,       // communicators at the same time
    REQUESTS_MAX = 8192,    // under way at the same time
    CHANNELS_MAX = 8192,    // communicator x peer x tag x direction whose messages are numbered
    SAMPLES_MAX = 2048,     // calls of which the times are kept, of collectives and of messages each
    TIMED_EVERY = 16,       // calls on average, if they take less than a hundred times what looking at the clock takes
    WORTH_CLOCK = 100,
};

#endif
