// SPDX-License-Identifier: Apache-2.0
// Every bound of the library, with what happens beyond it.
#ifndef SRO_LIMITS_H
#define SRO_LIMITS_H

// -- what is remembered; what does not fit is read as if the library were not there --

#define DESCRIPTORS_MAX 16384 // numbers from here on are not watched
#define FILES_MAX 32          // watched at a time; one that is not read any more makes room
#define PIECES_MAX 8192       // remembered as loaded, for each file; one more replaces another one
#define CLAIM_MAX 4096        // pieces of one zone that are remembered
#define PAGE_BYTES 4096       // what one read loads, at least: no piece is smaller
#define PARTS_MAX 256         // of a piece: of each is remembered whether it was read; a page, or more of larger pieces

// -- settings: other values are replaced by the default --

#define BYTES_MAX (1LL << 40) // of a bin or a zone
#define THRESHOLD_MAX 2147483647LL
#define SEQUENCE_MAX 100000LL // 5 MB of memory for each file at most, if its accesses are all over it
#define PATH_BYTES 4096

// -- which files are worth it --

#define FILE_BYTES_MIN (1 << 20) // smaller ones are read by the kernel's own reading ahead
#define RECHECK_CALLS 1024       // after so many reads a descriptor that was passed over is looked at again

// -- what an access tells --

#define SLOW_NS 20000          // and 1 ns a byte: more, and it waited for the disk
#define RECENT_MASK 0xffU      // of the last 8 to what is not loaded, two must have been slow: one may be bad luck
#define SAMPLE_CALLS 64        // of accesses to what was loaded one in so many is timed: was it evicted?
#define CALM_READ 16           // what a fast read counts, of what was not loaded or where the last one has ended
#define CALM_AGAIN 1           // and one of what was loaded and read before: others soon may not be
#define DOZE_AFTER 1024        // so much in a row: nobody needs help. Of 16 reads one is looked at then,
#define DOZE_CALLS_MIN 16      // a power of 2
#define DOZE_CALLS_MAX 256     // of twice as many each time that this one is fast, of so many at last
#define DOZE_DOUBT 128         // and once it is not, all are, until so much in a row has been fast
#define MISS_NS_MAX 50000000LL // more, and something else was slow
#define MISS_FASTER 8          // what a read waits is less by such a share of what one waited less,
#define MISS_SLOWER 128        // and more by such a share of what one waited longer

// -- reads that zones do not help: of some, only few are looked at. Reads that are fast: see DOZE_AFTER --

#define VAIN_READS 4096  // have waited, and of the last of them less than one in so many was saved from it:
#define VAIN_SHARE 32    // then, until zones do save,
#define BURST_EVERY 1024 // of so many, a power of 2,
#define BURST_READS 256  // the first ones are looked at, a smaller one: what tells a hot bin is many in a row

// -- what may be spent on loading: as much as was saved or is about to be, and an advance --

#define ADVANCE_NS 10000000LL     // 10 ms, to find out whether zones help
#define SHARE_OF_RUN 1000         // and a 1000th of the time since the first zone
#define AHEAD_NS_MIN 1000000000LL // how far ahead is looked: 1 s
#define AHEAD_SHARE 16            // or a 16th of that time
#define RECENT_READS 512          // that tell what share of the time is saved
#define LASTING_READS 128         // after a zone was loaded: what it saves then, it may save again
#define FIRST_RATE 2              // ns a byte, until a zone has been loaded: 500 MB/s

// -- the threads --

#define THREADS_MAX 2
#define QUEUE_MAX 8               // zones that wait; another one is asked for by a later read
#define STEP_BYTES (1 << 19)      // read at a time: two steps of a thread are under way at most
#define STACK_BYTES (16 * 1024)   // of a thread that calls nothing
#define IDLE_NS 1000000000LL      // then a thread ends
#define CLOSE_WAIT_NS 100000000LL // for a step to end before a descriptor is closed

#endif
