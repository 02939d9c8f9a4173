// SPDX-License-Identifier: Apache-2.0
// All state of the library in a process, in one mapping that the kernel zeroes in a forked child. Zeros are a valid
// initial state, so a child starts without connections and with no lock held. A child of vfork, which runs in its
// parent's memory, forwards nothing.
//
// A call of the program never waits for a lock of the library: it is done directly if the lock is held. Signals are
// blocked while a lock is held, so a signal handler never finds a lock held by the thread that it interrupted.
#ifndef FORWARD_STATE_H
#define FORWARD_STATE_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>
#include <sys/uio.h>

#include "limits.h"
#include "settings.h"

// A file that is open on a forwarder.
struct remote_file {
    dev_t dev;
    ino_t ino;
    uint32_t fid;   // 0 if this entry is free
    uint32_t chunk; // most bytes in one request
    bool writing;   // opened for writing, otherwise for reading
    bool dirty;     // written and not followed by an fsync
    bool checked;   // bytes were compared with those that the kernel sees
    uint64_t used;  // value of the link's clock at the last use
};

// A request in flight.
struct piece {
    bool busy;
    size_t begin; // first byte, counted from the beginning of the call
    size_t bytes;
    int vector;    // the program's buffer in which the piece begins,
    size_t inside; // and the place in it
};

// A connection to a forwarder. Its fields belong to the thread that holds `busy`, except `descriptor`.
struct link {
    _Atomic uint32_t busy;
    _Atomic int32_t descriptor; // number of the socket's descriptor plus 1; 0 if there is no connection
    ino_t socket;               // inode of the socket, which shows whether the descriptor is still the library's
    char address[ADDRESS_BYTES];
    bool in_order;   // no message is half sent or half received
    bool proven;     // the connection has moved data
    bool faulted;    // it ended because of the program's buffers
    bool delays;     // it leads to the job's burst buffer, which acknowledges writes before the file system has them
    bool checked;    // bytes were compared with those that the kernel sees, once for all files
    bool in_handler; // the thread may be in a signal handler, which must not call munge_credential
    uint32_t number; // place of the burst buffer's forwarder in the map
    uint32_t message_bytes;
    uint32_t last_fid;
    uint64_t clock;
    bool attached[PREFIXES_MAX];
    struct remote_file files[REMOTE_FILES_MAX];
    struct piece pieces[WINDOW];
    struct iovec vectors[VECTORS_MAX + 1];
    char path[PATH_BYTES];
    uint8_t buffer[BUFFER_BYTES];
};

// A forwarder that failed.
struct avoided {
    char address[ADDRESS_BYTES];
    int64_t until_ns;
    int64_t pause_ns;
};

// The forwarder of this process, as the map says.
struct route {
    _Atomic uint32_t busy;
    int64_t checked_ns; // time of the last look at the map; 0 if there was none
    dev_t dev;
    ino_t ino;
    int64_t size;
    int64_t mtime_ns;
    int32_t forwarders; // in the map; -1 if the map is bad or missing
    uint64_t maps;      // that were read, or found missing
    char address[ADDRESS_BYTES];
    long text_bytes; // size of the map; -1 if it is bad or missing
    struct avoided avoided[AVOIDED_MAX];
    char text[MAP_BYTES + 1];
};

// A file with forwarded writes that no fsync on their forwarder has followed, and that is no longer open there.
struct debt {
    dev_t dev;
    ino_t ino;
    bool lost;   // the forwarder's node, or a burst buffer, may have crashed
    bool failed; // the forwarder reported an error of the file, which it does only once
    char address[ADDRESS_BYTES];
};

struct debts {
    _Atomic uint32_t busy;
    _Atomic uint32_t count; // of debts that were ever added
    struct debt all[DEBTS_MAX];
};

struct counters {
    _Atomic uint64_t read_calls;
    _Atomic uint64_t read_bytes; // that a forwarder read
    _Atomic uint64_t write_calls;
    _Atomic uint64_t write_bytes;
    _Atomic uint64_t redone_bytes; // that were moved directly within a call that was forwarded in part
    _Atomic uint64_t direct_calls; // of at least the smallest size, on files below the prefixes, not forwarded
    _Atomic uint64_t connections;  // that were made
    _Atomic uint64_t failures;     // of connections, including those that could not be made
    _Atomic uint64_t maps;         // that were read
    _Atomic uint64_t other_files;  // that differed from the forwarder's file of the same path
};

struct shunned {
    _Atomic uint64_t ino;
    _Atomic uint64_t dev;
    _Atomic int64_t until_ns;
};

struct state {
    _Atomic int32_t pid; // process that owns the state
    _Atomic uint64_t prefix_dev[PREFIXES_MAX];
    _Atomic uint32_t prefix_known;    // a bit for each prefix whose device is known
    _Atomic int64_t prefix_look_ns;   // earliest time to look at the other prefixes again
    _Atomic uint8_t owing[OWING_MAX]; // for bursts: 1 if this process wrote to the forwarder with this place in the map
    _Atomic uint32_t draining;        // a thread holds connections to several burst buffers
    _Atomic bool ending;              // the process ends, and delays no further writes
    _Atomic bool delayed;             // a burst buffer was reached
    _Atomic int64_t given_up_ns;      // last time that a burst buffer was waited for without result; 0: never
    struct route route;
    struct debts debts;
    struct counters counters;
    struct shunned shunned[SHUNNED_MAX];
    struct link links[LINKS_MAX];
    _Atomic int64_t marks[DESCRIPTORS_MAX]; // what is known of each descriptor
};

// A mark is 0, or this if a call on the descriptor was forwarded, or the time until which its file is not forwarded.
#define MARK_FORWARDED (-1)

extern struct state *state_pointer;
extern int64_t state_least_bytes;    // smallest request that is forwarded; INT64_MAX while the library is off
extern int64_t state_stream_bytes;   // the same for requests of streams
extern uint64_t state_usual_signals; // signals that were blocked when the program began; further ones are blocked in
                                     // a signal handler, if not in the whole thread

// pthread_testcancel, because a program expects to be able to cancel a thread that reads or writes; NULL if the program
// has no threads.
extern void (*state_test_cancel)(void);

// Return the state if the library is on and this is the process that owns the state, otherwise NULL.
struct state *state_get(void);

const struct settings *state_settings(void);

static inline bool state_try(_Atomic uint32_t *lock)
{
    return !atomic_load_explicit(lock, memory_order_relaxed) &&
           !atomic_exchange_explicit(lock, 1, memory_order_acquire);
}

static inline void state_let_go(_Atomic uint32_t *lock)
{
    atomic_store_explicit(lock, 0, memory_order_release);
}

// Return a number that the inode of a file always gives, on every node.
static inline uint32_t state_hash(ino_t ino)
{
    return (uint32_t)(ino * 0x9e3779b97f4a7c15ULL >> 32);
}

static inline void state_count(_Atomic uint64_t *counter, uint64_t more)
{
    atomic_fetch_add_explicit(counter, more, memory_order_relaxed);
}

#endif
