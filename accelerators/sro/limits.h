// SPDX-License-Identifier: Apache-2.0
// Every limit of the library, with its unit, and its effect or reason.
#ifndef SRO_LIMITS_H
#define SRO_LIMITS_H

// -- memory --

#define DESCRIPTORS_MAX 16384 // descriptors from this number on are not watched
#define FILES_MAX 32          // files watched at once; a new file takes the place of one that is no longer read
#define PIECES_MAX 8192       // loaded pieces remembered for each file; a further piece replaces another
#define CLAIM_MAX 4096        // pieces of one zone that are marked as loaded; the rest of the zone is loaded unmarked
#define PAGE_BYTES 4096       // smallest size of a piece, because a read loads at least a page
#define PARTS_MAX 256         // parts of a piece, each of at least a page; one bit per part records whether it was read

// -- limits of settings; a value outside them is replaced by the default --

#define BYTES_MAX (1LL << 40) // largest size of a bin or a zone
#define THRESHOLD_MAX 2147483647LL
#define SEQUENCE_MAX 100000LL // accesses in a window, which take at most 5 MB of memory per file
#define PATH_BYTES 4096

// -- files to watch --

#define FILE_BYTES_MIN (1 << 20) // smallest file to watch; the kernel's read-ahead covers smaller files
#define RECHECK_CALLS 1024       // reads after which a descriptor that is not watched is checked again

// -- evaluation of an access; a read adds its weight (CALM_*) to its file's sum, which a slow read reduces --

#define SLOW_NS 20000          // a read that takes longer than this plus 1 ns per byte waited for the disk
#define RECENT_MASK 0xffU      // a zone is loaded only if two of the last 8 accesses to unloaded pieces were slow
#define SAMPLE_CALLS 64        // one in this number of accesses to loaded pieces is timed, to detect evictions
#define CALM_READ 16           // weight of a fast read of an unloaded piece, or of a read that continues the last one
#define CALM_AGAIN 1           // weight of reading a loaded part again; low, because the next read may need help
#define DOZE_AFTER 1024        // sum of consecutive weights after which a file needs no help and dozes
#define DOZE_CALLS_MIN 16      // while a file dozes, one in this number of its reads is processed (a power of 2)
#define DOZE_CALLS_MAX 256     // that number doubles after each processed read that is fast, up to this limit
#define DOZE_DOUBT 128         // after a slow read, sum of consecutive weights after which the file dozes again
#define MISS_NS_MAX 50000000LL // a longer wait counts as this long, because it had another cause
#define MISS_FASTER 8          // the estimated wait shrinks by 1/MISS_FASTER of its difference to a shorter wait,
#define MISS_SLOWER 128        // and grows by 1/MISS_SLOWER of its difference to a longer wait

// -- programs with slow reads that zones do not prevent: only some reads are processed (fast reads: see DOZE_AFTER) --

#define VAIN_READS 4096  // reads that waited, or would have waited, before zones can count as useless
#define VAIN_SHARE 32    // zones are useless if lasting savings are less than one in this number of recent reads
#define BURST_EVERY 1024 // length of a period in reads (a power of 2), while zones are useless
#define BURST_READS 256  // reads processed at the start of a period (a power of 2); consecutive reads show a hot bin

// -- time to spend on loading: the time saved or expected to be saved, plus an advance --

#define ADVANCE_NS 10000000LL     // the advance is 10 ms, to find out whether zones help,
#define SHARE_OF_RUN 1000         // plus a 1000th of the time since the first zone
#define AHEAD_NS_MIN 1000000000LL // the look-ahead is at least 1 s
#define AHEAD_SHARE 16            // the look-ahead is a 16th of the time since the first zone, if that is longer
#define RECENT_READS 512          // recent reads from which the fraction of reads that zones save is estimated
#define LASTING_READS 128         // only savings at least this number of reads after loading are expected to recur
#define FIRST_RATE 2              // ns per byte (500 MB/s), assumed until the first zone has been loaded

// -- the threads --

#define THREADS_MAX 2
#define QUEUE_MAX 8               // zones that wait; a further zone is dropped, and a later read may request it again
#define STEP_BYTES (1 << 19)      // bytes read at a time; a thread has at most two such steps in progress
#define STACK_BYTES (16 * 1024)   // stack of a thread; small, because the thread calls no libc functions
#define IDLE_NS 1000000000LL      // idle time after which a thread ends
#define CLOSE_WAIT_NS 100000000LL // longest wait for a step to end before a descriptor is closed

#endif
