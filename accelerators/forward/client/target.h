// SPDX-License-Identifier: Apache-2.0
// Decides which calls can be forwarded, from what the kernel says about the descriptor at the time of the call. So no
// forwarded call depends on what the descriptor's number meant before.
#ifndef FORWARD_TARGET_H
#define FORWARD_TARGET_H

#include <sys/stat.h>

#include "state.h"

#define OFFSET_CURRENT (-1LL) // means the descriptor's current position

// A call of the program.
struct request {
    int fd;
    const struct iovec *vectors;
    int count;
    size_t bytes;
    int64_t offset;
    bool writing;
};

struct target {
    struct stat status; // of the descriptor
    bool readable;      // the descriptor may be read
};

// Return whether a descriptor was found not to be forwarded, a while ago at most. Its number may mean another file
// since then if the program closed it in a way that the library does not see; then that file is forwarded a little
// later.
bool target_is_left(struct state *state, int fd);

// Look at the descriptor of a request, which `target_is_left` has not left out. Returns false if the request cannot be
// forwarded.
bool target_look(struct state *state, const struct request *request, struct target *target);

// Look at a descriptor. Returns false unless it is a regular file on the file system of a prefix.
bool target_is_file(struct state *state, int fd, struct target *target);

// Return whether a file is on the file system of a prefix.
bool target_is_on_a_prefix(struct state *state, const struct stat *status);

// Return the prefix of the file's path, which is written to `path`; -1 if the file is not below a prefix, or is on a
// file system that is not coherent among nodes. `root` is the inode of the prefix.
int target_path(struct state *state, int fd, const struct target *target, char path[PATH_BYTES], ino_t *root);

bool target_is_shunned(struct state *state, const struct stat *status);

// Do not forward calls on this file until a time of clock_now_ns.
void target_shun(struct state *state, const struct stat *status, int64_t until_ns);

#endif
