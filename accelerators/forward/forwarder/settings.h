// SPDX-License-Identifier: Apache-2.0
// The forwarder's options, from the command line or a file.
#ifndef FORWARDER_SETTINGS_H
#define FORWARDER_SETTINGS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum write_back { WRITE_BACK_OFF, WRITE_BACK_RAM, WRITE_BACK_FLASH };

struct settings {
    const char *listen;  // HOST:PORT, or the path of a Unix socket
    const char *diod;    // the same
    const char *metrics; // HOST:PORT; NULL: none
    const char *control; // path of a Unix socket; NULL: none
    const char *job;     // NULL: from the connection
    const char *scheduler;
    int64_t servers;      // data servers of the file system
    const char *layout;   // rule by which files are placed on them
    int64_t number;       // of this forwarder
    int64_t window;       // us; 0: no windows
    const char *council;  // HOST:PORT, or the path of a Unix socket; NULL: none
    int64_t council_auth; // 0: munge, 1: none
    int64_t council_uid;
    int64_t workers;
    int64_t write_back;
    const char *exports; // with write-back, separated by commas; NULL: all
    int64_t close_waits; // whether Tclunk waits as Tfsync does
    int64_t ram_bytes;
    const char *flash; // directory; NULL: none
    int64_t flash_bytes;
    int64_t flash_sync; // whether records wait for the device
    int64_t ram_destagers;
    int64_t flash_destagers;
    int64_t ram_threshold;   // percent
    int64_t flash_threshold; // percent
    int64_t destage_after;   // ms
    const char *bursts;      // directory of the burst buffers; NULL: none
    const char *burst_flash; // directory of their flash caches; NULL: none
    int64_t burst_auth;      // 0: munge, 1: none
    int64_t burst_uid;       // user who may wait for data of all jobs
    int64_t burst_jobs;      // most burst buffers at a time
    int64_t burst_ram_bytes; // most that a job may ask for
    int64_t burst_flash_bytes;
    int64_t linger;        // seconds after which a burst buffer that nobody needs ends
    const char *hand_over; // directory of this burst buffer; NULL: this is no burst buffer
};

// Read options. Return 0; -1 with one line about the first error in `*error`; 1 if the help was asked for and printed.
// Texts live as long as the process.
int settings_read(struct settings *settings, int argc, char **argv, char *error, size_t room);

// Return whether an option, given as NAME=VALUE, has a valid value.
bool settings_valid(const char *option);

// Read a mode of write-back. Return 0; -1 if there is no such mode.
int settings_mode(const char *text, int64_t *mode);

// Read a window's microseconds. Return 0; -1 if it is neither 0 nor a number from WINDOW_US_MIN to WINDOW_US_MAX.
int settings_window(const char *text, uint32_t *window_us);

#endif
