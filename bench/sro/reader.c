// SPDX-License-Identifier: Apache-2.0
// A program with three kinds of reads that the Small Read Optimizer cannot speed up.
//
//   reader FILE sequential|random|cached READS SEED     reads, and prints the nanoseconds of one read
#define _GNU_SOURCE
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define SMALL 4096
#define LARGE (64 * 1024)
#define CACHED (16 << 20) // number of bytes at the beginning of the file that `cached` reads
#define ROUND 20000       // number of reads in a round; the time of a read is that in the fastest round

static double now_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec * 1e9 + (double)now.tv_nsec;
}

int main(int argc, char **argv)
{
    static char buffer[LARGE];
    if (argc != 5) {
        return 2;
    }
    const int fd = open(argv[1], O_RDONLY);
    const uint64_t pages = (uint64_t)lseek(fd, 0, SEEK_END) / SMALL;
    const long reads = atol(argv[3]);
    uint64_t random = strtoull(argv[4], NULL, 10) * 0x9E3779B97F4A7C15ULL + 1;
    const int is_sequential = strcmp(argv[2], "sequential") == 0, is_cached = strcmp(argv[2], "cached") == 0;
    if (fd < 0 || lseek(fd, 0, SEEK_SET) != 0) {
        return 1;
    }
    for (off_t at = 0; is_cached && at < CACHED; at += LARGE) {
        if (pread(fd, buffer, LARGE, at) != LARGE) {
            return 1;
        }
    }
    double best = 1e18, begun = now_ns();
    for (long i = 1; i <= reads; i++) {
        random ^= random << 13;
        random ^= random >> 7;
        random ^= random << 17;
        const uint64_t page = (random >> 11) % (is_cached ? CACHED / SMALL : pages);
        const ssize_t got = is_sequential ? read(fd, buffer, LARGE) : pread(fd, buffer, SMALL, (off_t)(page * SMALL));
        if (got <= 0) {
            return 1;
        }
        if (i % ROUND == 0) {
            const double end = now_ns();
            best = end - begun < best ? end - begun : best;
            begun = end;
        }
    }
    printf("%.1f\n", best / ROUND);
    return 0;
}
