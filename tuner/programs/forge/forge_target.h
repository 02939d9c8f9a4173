// SPDX-License-Identifier: Apache-2.0
// A file of the forwarding explorer: plain POSIX calls, so that a preloaded library can take them. No MPI.
//
// The explorer only uses files that it has created: their names end with the run's number, and an existing file is
// never opened for writing.
#ifndef REPRISE_FORGE_TARGET_H
#define REPRISE_FORGE_TARGET_H

#include <stdbool.h>
#include <stdint.h>

#include "forge_requests.h"

#define FORGE_ERROR_BYTES 4400 // a path and a sentence

struct forge_target {
    const char *path; // of the plan
    bool is_individual;
    bool is_created;
    bool is_creator; // this rank removes the file
    int fd;          // -1: closed
    uint64_t seed;
    struct forge_pattern written; // that the whole file was written with; its count is 0 if it was not
    char name[4096];
};

// Requests of one rank, in one step.
struct forge_move {
    struct forge_pattern pattern;
    uint32_t client;
    bool is_write;
    bool is_validated;     // all bytes; otherwise the first 8 of each request
    uint64_t most;         // requests; the move stops there
    double pause_s;        // mean time between two requests; 0: none
    double stone_wall_s;   // 0: none
    unsigned char *buffer; // as large as a request, and aligned for O_DIRECT
    // Results:
    double seconds; // in calls, including fsync after writes
    uint64_t bytes;
    bool is_stopped; // by the stone wall
};

// Set the file's name and seed. `run` is equal in all ranks of a run, and differs between runs.
void forge_target_set(struct forge_target *target, const char *path, bool is_individual, uint64_t run, uint32_t rank);

// Open the file, which is created if `create`. Functions return 0, or -1 with a line in `error`.
int forge_target_open(struct forge_target *target, bool create, bool is_direct, char error[FORGE_ERROR_BYTES]);
int forge_target_close(struct forge_target *target, char error[FORGE_ERROR_BYTES]);

// Write or read all requests, and compare what was read with what this run wrote.
int forge_target_move(struct forge_target *target, struct forge_move *move, char error[FORGE_ERROR_BYTES]);

// Drop the file's pages from this node's cache, as far as the kernel follows the advice.
void forge_target_forget(const struct forge_target *target);

// Close the file, and remove it if this rank created it. Errors are ignored.
void forge_target_remove(struct forge_target *target);

#endif
