// SPDX-License-Identifier: Apache-2.0
// Every limit of the library, with its unit, and its effect or reason.
#ifndef FORWARD_LIMITS_H
#define FORWARD_LIMITS_H

// -- what is forwarded --

#define DESCRIPTORS_MAX 16384   // descriptors from this number on are never forwarded
#define CALL_BYTES 0x7ffff000LL // most bytes that the kernel moves in a call
#define VECTORS_OF_CALL 1024    // most buffers that the kernel takes in a call
#define PREFIXES_MAX 8          // directories below which files are forwarded
#define PATH_BYTES 4096         // longest path, as in the kernel, with its 0
#define NAMES_MAX 16            // names in one message that walks; set by 9P
#define SHUNNED_MAX 1024        // files that are not forwarded for a while; a further file replaces another
#define SHUN_NS 2000000000LL    // a file that cannot be forwarded is tried again after 2 s
#define FOREVER_NS INT64_MAX    // a file whose forwarded bytes were wrong is never tried again

// -- burst buffers --

#ifndef BURST_STRIPE_BYTES // tests have smaller ones
#define BURST_STRIPE_BYTES                                                                                             \
    (4ULL << 20) // bytes of a file that go to one forwarder, then it is the next one's turn; the
                 // data of smaller files have only one to wait for
#endif
#define BURST_SPREAD 4U                 // most forwarders of a file, which leaves connections for other files
#define BURST_NUMBER_MAX (1LL << 50)    // largest number in it
#define HASHES 4096                     // of files that the process wrote to, or mapped into memory
#define OWING_MAX 256                   // forwarders that a process distinguishes at its end
#define BURST_RETRY_NS 20000000LL       // time between attempts to reach a burst buffer
#define BURST_GIVEN_UP_NS 60000000000LL // after a wait without result, calls do not wait again for a minute

// -- connections --

#define JOB_BYTES 24 // name of a job at forwarders: 10 digits and "-steady", with its 0

#define LINKS_MAX 8             // connections of a process; a thread that finds none free does its call directly
#define REMOTE_FILES_MAX 64     // files open on a connection; a further file takes the place of the least recently used
#define WINDOW 16               // requests in flight; 1 MB at 64 KiB each covers 1 ms at 1 GB/s
#define MESSAGE_BYTES (1 << 20) // largest message that is offered; diod 1.0.24 takes 64 KiB
#define MESSAGE_BYTES_MIN 8192  // a forwarder that takes only smaller messages is not used
#define BUFFER_BYTES 8192       // buffer for messages without data; 16 names of 255 bytes fit
#define PAGE_BYTES 4096         // pieces of a transfer end at multiples of this offset
#define VECTORS_MAX 64          // buffers of the program in one message
#define FIRST_DESCRIPTOR 960    // connections get descriptors from here on, out of the way of the program's
#define CLOSE_WAIT_NS 2000000000LL   // longest wait until a closed file is also closed on the forwarder
#define PAY_WAIT_NS 120000000000LL   // longest wait for a new connection for fsync(); it fails if there is none
#define FSYNC_WAIT_NS 600000000000LL // longest wait for fsync() on a forwarder; a busy file system takes minutes
#define BYTE_NS 1000                 // time that a transfer may take per byte beyond the patience; 1 MB/s is too slow
#define DEAD_AFTER_S 10              // a connection is idle for so long before the kernel asks whether its peer lives,
#define DEAD_EVERY_S 5               // asks every 5 s,
#define DEAD_COUNT 4                 // and ends the connection after 4 questions without an answer

// -- forwarders that failed --

#define AVOIDED_MAX 8              // forwarders that are remembered
#define AVOID_NS 1000000000LL      // first pause after a failure, which doubles with each further one
#define AVOID_NS_MAX 64000000000LL // longest pause

// -- writes that no fsync() on their forwarder has followed --

#define DEBTS_MAX                                                                                                      \
    64 // files that are remembered after they were closed or their connection broke; a further one
       // takes the place of the oldest

// -- the map --

#define MAP_BYTES 65536   // largest map file
#define ADDRESS_BYTES 256 // longest address of a forwarder, with its 0
#define SOCKET_BYTES 108  // longest path of a Unix socket, with its 0; set by the kernel

// -- limits of settings; a value outside them is replaced by the default --

#define LEAST_BYTES_MAX (1LL << 40)
#define PATIENCE_MS_MAX 3600000
#define CHECK_MS_MAX 3600000
#define NODE_MAX 16777215

#endif
