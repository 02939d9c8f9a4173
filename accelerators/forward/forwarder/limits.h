// SPDX-License-Identifier: Apache-2.0
// Every limit of the forwarder, with its unit, and its effect or reason.
#ifndef FORWARDER_LIMITS_H
#define FORWARDER_LIMITS_H

#include <stdint.h>

// -- messages --

#define MSIZE_MAX (1U << 20) // largest message that is negotiated; diod 1.0.24 offers 64 KiB, later releases 1 MiB
#define MSIZE_MIN 4096U      // smallest message size that a client may ask for; also the limit before Rversion
#define STAGED_BYTES 4096    // bytes read behind a message; more of them would be copied, fewer cost system calls
#define READS_PER_TURN 8     // reads from one connection before other connections have their turn
#define PARTS_PER_WRITE 32   // buffers that one writev sends
#define SEND_QUEUE_BYTES (8U << 20) // bytes waiting for a slow client, from which its requests are no longer read
#define WALK_NAMES_MAX 16           // names in a Twalk, by the protocol

// -- connections --

#define SESSIONS_MAX 4096    // client connections; a further one is closed at once, and its client goes direct
#define CONNECT_WAIT_US 5000 // time between attempts to connect to diod, while its Unix socket has no room
#define CONNECT_ATTEMPTS 400 // attempts before a client is disconnected, and goes direct
#define REQUESTS_MAX 256     // requests in service for a connection; further ones stay in its socket until one ends
#define FIDS_MAX 65536       // fids of a connection; a client needs one for each open file, and some for directories
#define PATH_BYTES_MAX 4096  // path of a file below its export; write-back leaves out files with longer ones
#define JOBS_MAX 64          // jobs with metrics of their own; jobs beyond are counted together as "other"
#define STREAMS_MAX 16384    // files of jobs whose last accesses are remembered; each takes 32 bytes
#define PATTERN_JOBS_MAX 16  // jobs whose patterns are metrics; each has 14 time series
#define JOB_NAME_MAX 63      // bytes of a job's name; a longer one is cut

// -- schedulers --

#define SERVERS_MAX 1024             // data servers; each has a queue
#define NUMBER_OF_FORWARDER_MAX 4095 // largest number of a forwarder
#define WINDOW_US_MIN 125            // shortest window; a shorter one holds no request of 64 KiB at 500 MB/s
#define WINDOW_US_MAX 1000000        // longest window; requests wait for one of each other data server
#define WINDOW_NONE UINT32_MAX       // stands for no single window: the policy has none, or it changed
#define STRIPE_BYTES_MIN 4096ULL     // smallest stripe; file systems have 64 KiB and more
#define STRIPE_BYTES_MAX (1ULL << 40)
#define MAPPED_FILES_MAX 65536        // files in a map of the layout; it takes 4 MiB of memory
#define MAPPED_SERVERS_MAX (1U << 19) // stripes of these files

// -- council --

#define IDLE_GAP_NS 20000000U     // time without requests that means low demand; a shorter one is a client's turn
#define IDLE_PERCENT 10           // share of a time without requests from which a load is reported
#define DECISION_LINE_MAX 4096    // longest line of the council; a credential of munge takes some 500 bytes
#define DECISION_LINES_MAX 64     // lines of the council in a second; it sends one
#define REPORT_LAG_NS 5000000U    // time after the begin of a second at which the last one is reported
#define REPORT_NS_MIN 500000000U  // shortest time that is reported; a window in force for less waits a second more
#define SILENCE_NS 10000000000ULL // time without a decision after which the connection to the council is given up
#define RECONNECT_S_MIN 1         // time between attempts to reach the council, twice as long after each failure
#define RECONNECT_S_MAX 30

// -- write-back --

#define THREADS_MAX 64        // upper limit of workers and destagers
#define FLASH_QUEUE_MAX 4     // records that wait for each thread; further writes go to diod, which may be faster
#define UNIT_PARTS_MAX 64     // pieces of one delayed write; 16 writes of 4 KiB make one of 64 KiB
#define LOOK_AHEAD_PIECES 256 // pieces of a file that are examined for one that can be written now
#define FILES_MAX 65536       // files with delayed writes, or open for them; further files are written through
#define SEGMENT_BYTES_MIN (1U << 20)
#define SEGMENT_BYTES_MAX (1U << 30)
#define FLASH_BYTES_MIN (2 * SEGMENT_BYTES_MIN)
#define SEGMENTS 64         // parts of the journal; space is freed when a part has no unfinished record
#define RECORD_ALIGN 4096U  // records start at multiples of this, so that a torn record does not hide later ones
#define PAUSED_RECORDS 1000 // records after an error of flash for which it is not tried again
#define HELD_MS 500         // longest wait of a write until its file is open for delayed writes
#define RETRY_MS 200        // time between attempts to reach diod for delayed writes

// -- burst buffers --

#define ARRIVAL_WAIT_US 5000      // time between two looks at a connection that waits for its burst buffer
#define ARRIVAL_NS 10000000000ULL // longest wait for a first message, its proof, and a burst buffer that starts
#define PROOF_WAIT_US 100000      // time between two looks at a connection whose proof is examined
#define PROOF_THREADS 4           // threads that munged may hang; it needs some 0.05 ms for a credential
#define PROOFS_MAX 256            // credentials that they examine or will; further ones wait in their connections
#define PROOF_NS 1000000000ULL    // without an answer of munged for so long, jobs do without; clients wait for 2 s
#define PROOF_LOG_S 60            // time between two lines of the log about the same cause of refusals

// -- control --

#define CONTROL_LINE_MAX 256 // longest command
#define CONTROLS_MAX 16      // connections to the control socket

#endif
