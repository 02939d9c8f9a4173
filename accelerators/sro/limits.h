// SPDX-License-Identifier: Apache-2.0
// Every limit of the library, with the effect of exceeding it.
#ifndef SRO_LIMITS_H
#define SRO_LIMITS_H

// -- memory; accesses that do not fit are read as without the library --

#define DESCRIPTORS_MAX 16384 // numbers from here on are not watched
#define FILES_MAX 32          // watched at a time; one that is no longer read makes room
#define PIECES_MAX 8192       // remembered as loaded, for each file; one more replaces another
#define CLAIM_MAX 4096        // pieces of one zone that are remembered
#define PAGE_BYTES 4096       // the least that one read loads: no piece is smaller
#define PARTS_MAX 256         // of a piece, each with a bit for whether it was read; a part is at least a page

// -- settings: other values are replaced by the default --

#define BYTES_MAX (1LL << 40) // of a bin or a zone
#define THRESHOLD_MAX 2147483647LL
#define SEQUENCE_MAX 100000LL // at most 5 MB of memory per file, if its accesses are spread over all of it
#define PATH_BYTES 4096

// -- files to watch --

#define FILE_BYTES_MIN (1 << 20) // the read-ahead of the kernel covers smaller ones
#define RECHECK_CALLS 1024       // reads after which a descriptor that is not watched is checked again

// -- evaluation of an access --

#define SLOW_NS 20000          // plus 1 ns a byte; a longer read waited for the disk
#define RECENT_MASK 0xffU      // two of the last 8 accesses to unloaded pieces must have been slow: one may be chance
#define SAMPLE_CALLS 64        // one in this number of accesses to loaded pieces is timed, to notice evictions
#define CALM_READ 16           // weight of a fast read of an unloaded piece, or one that continues the previous one
#define CALM_AGAIN 1           // weight of a read of a part that was loaded and read before: the next may not be
#define DOZE_AFTER 1024        // sum of weights in a row after which a file needs no help: then one in 16
#define DOZE_CALLS_MIN 16      // reads is processed (a power of 2),
#define DOZE_CALLS_MAX 256     // and the interval doubles each time that read is fast, up to this one
#define DOZE_DOUBT 128         // once it is slow, all reads are processed until this sum of weights is fast
#define MISS_NS_MAX 50000000LL // a longer wait had another cause
#define MISS_FASTER 8          // the estimated wait shrinks by this share of the difference to a shorter wait,
#define MISS_SLOWER 128        // and grows by this share of the difference to a longer one

// -- slow reads that zones do not help; only some of them are processed. For fast reads see DOZE_AFTER --

#define VAIN_READS 4096  // reads that waited, and of the latest of them less than one in
#define VAIN_SHARE 32    // this number was saved from waiting: then, until zones help,
#define BURST_EVERY 1024 // of this number of reads, a power of 2,
#define BURST_READS 256  // the first ones, a smaller power, are processed: a hot bin shows in consecutive reads

// -- time to spend on loading: the time saved or expected to be saved, plus an advance --

#define ADVANCE_NS 10000000LL     // 10 ms, to find out whether zones help,
#define SHARE_OF_RUN 1000         // plus a 1000th of the time since the first zone
#define AHEAD_NS_MIN 1000000000LL // look-ahead: 1 s,
#define AHEAD_SHARE 16            // or a 16th of the time since the first zone
#define RECENT_READS 512          // that the share of saved time is estimated from
#define LASTING_READS 128         // reads after a zone was loaded; savings from then on may recur
#define FIRST_RATE 2              // ns a byte, until a zone has been loaded: 500 MB/s

// -- the threads --

#define THREADS_MAX 2
#define QUEUE_MAX 8               // zones that wait; a later read requests another one
#define STEP_BYTES (1 << 19)      // read at a time; a thread has at most two steps in progress
#define STACK_BYTES (16 * 1024)   // of a thread that calls nothing
#define IDLE_NS 1000000000LL      // idle time after which a thread ends
#define CLOSE_WAIT_NS 100000000LL // longest wait for a step to end before a descriptor is closed

#endif
