// SPDX-License-Identifier: Apache-2.0
// Plays random sequences of operations on one file, through several descriptors, streams, mappings and processes. For
// each sequence, it prints a digest of everything that a program can see: results, errno, positions, and every byte
// read.
//
//   mover FILE FIRST COUNT [all]     `all` also prints each operation
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

#define SLOTS 6
#define ROOM (400 * 1024)
#define FAR (2 << 20)  // operations begin before this offset
#define UNTOUCHED 4242 // an errno that no call sets
#define STEPS 60

static struct {
    uint64_t random;
    uint64_t digest;
    bool aloud;
    const char *path;
    int fds[SLOTS];
    FILE *stream;
    char buffer[ROOM];
} player;

static uint64_t draw(uint64_t below)
{
    player.random ^= player.random << 13;
    player.random ^= player.random >> 7;
    player.random ^= player.random << 17;
    return (player.random >> 11) % below;
}

static void mix(const void *bytes, size_t count)
{
    for (const unsigned char *byte = bytes; count--; byte++) {
        player.digest = (player.digest ^ *byte) * 0x100000001b3ULL;
    }
}

static void note(const char *what, long result, long bytes)
{
    const long seen[] = {result, errno};
    mix(seen, sizeof seen);
    if (bytes > 0) {
        mix(player.buffer, (size_t)bytes);
    }
    if (player.aloud) {
        printf("  %s = %ld, errno %d, digest %016llx\n", what, result, errno, (unsigned long long)player.digest);
    }
    errno = UNTOUCHED;
}

static void fill(size_t bytes)
{
    uint64_t value = draw(UINT64_MAX);
    for (size_t i = 0; i < bytes; i++) {
        player.buffer[i] = (char)(value = value * 6364136223846793005ULL + 1442695040888963407ULL, value >> 56);
    }
}

static size_t length(void)
{
    return draw(3) ? draw(16 * 1024) : draw(ROOM);
}

static off_t place(void)
{
    return draw(12) ? (off_t)draw(FAR) : (off_t)draw(4) * 4096 - 1;
}

static int one(void)
{
    return player.fds[draw(SLOTS)];
}

static void describe(int fd)
{
    struct stat status;
    note("fstat", fstat(fd, &status), 0);
    note("size", status.st_size, 0);
    note("position", lseek(fd, 0, SEEK_CUR), 0);
}

static void open_one(void)
{
    static const int flags[] = {O_RDWR,          O_RDWR, O_RDONLY, O_WRONLY, O_RDWR | O_APPEND, O_WRONLY | O_SYNC,
                                O_RDWR | O_CREAT};
    const uint64_t slot = draw(SLOTS);
    note("close", close(player.fds[slot]), 0);
    player.fds[slot] = open(player.path, flags[draw(sizeof flags / sizeof *flags)] | O_CLOEXEC, 0600);
    note("open", player.fds[slot] >= 0, 0);
}

static void duplicate(void)
{
    const uint64_t slot = draw(SLOTS);
    const int from = one();
    if (draw(2)) {
        note("dup2", dup2(from, player.fds[slot]) >= 0, 0);
    } else {
        const int fd = dup(from);
        close(player.fds[slot]);
        player.fds[slot] = fd;
        note("dup", fd >= 0, 0);
    }
}

static int split(struct iovec vectors[5], size_t bytes)
{
    int count = 1 + (int)draw(5);
    size_t at = 0;
    for (int i = 0; i < count; i++) {
        const size_t part = i == count - 1 ? bytes - at : draw(bytes - at + 1);
        vectors[i] = (struct iovec){player.buffer + at, part};
        at += part;
    }
    return count;
}

static void read_one(void)
{
    struct iovec vectors[5];
    const size_t bytes = length();
    ssize_t got = 0;
    memset(player.buffer, 0, bytes);
    switch (draw(5)) {
    case 0:
        got = pread(one(), player.buffer, bytes, place());
        break;
    case 1:
        got = readv(one(), vectors, split(vectors, bytes));
        break;
    case 2:
        got = preadv(one(), vectors, split(vectors, bytes), place());
        break;
    case 3:
        got = preadv2(one(), vectors, split(vectors, bytes), draw(2) ? -1 : place(), 0);
        break;
    default:
        got = read(one(), player.buffer, bytes);
    }
    note("read", got, (long)bytes);
}

static void write_one(void)
{
    struct iovec vectors[5];
    const size_t bytes = length();
    ssize_t put = 0;
    fill(bytes);
    switch (draw(5)) {
    case 0:
        put = pwrite(one(), player.buffer, bytes, place());
        break;
    case 1:
        put = writev(one(), vectors, split(vectors, bytes));
        break;
    case 2:
        put = pwritev(one(), vectors, split(vectors, bytes), place());
        break;
    case 3:
        put = pwritev2(one(), vectors, split(vectors, bytes), draw(2) ? -1 : place(), 0);
        break;
    default:
        put = write(one(), player.buffer, bytes);
    }
    note("write", put, 0);
}

static void stream_one(void)
{
    const size_t bytes = length() + 1;
    if (!player.stream || draw(8) == 0) {
        if (player.stream) {
            note("fclose", fclose(player.stream), 0);
        }
        player.stream = fopen(player.path, draw(3) ? "r+" : "r");
        note("fopen", player.stream != NULL, 0);
        return;
    }
    note("fseek", fseeko(player.stream, draw(2) ? place() : 0, draw(2) ? SEEK_SET : SEEK_CUR), 0);
    for (uint64_t i = 1 + draw(3); i; i--) {
        memset(player.buffer, 0, bytes);
        note("fread", (long)fread(player.buffer, 1 + draw(3), bytes / 4, player.stream), (long)bytes);
        note("fgetc", fgetc(player.stream), 0);
        note("ftell", ftello(player.stream), 0);
    }
    note("feof", feof(player.stream), ferror(player.stream));
    note("fseek", fseeko(player.stream, 0, SEEK_CUR), 0);
    if (draw(2)) {
        fill(bytes);
        note("fputc", fputc('x', player.stream), 0);
        note("fwrite", (long)fwrite(player.buffer, 1 + draw(3), bytes / 4, player.stream), 0);
        note("fputc", fputc('y', player.stream), 0);
        note("ftell", ftello(player.stream), 0);
    }
    note("fflush", fflush(player.stream), 0);
    clearerr(player.stream);
}

static void change_size(void)
{
    note("ftruncate", ftruncate(one(), (off_t)draw(FAR)), 0);
    if (draw(4) == 0) {
        note("fallocate", posix_fallocate(one(), (off_t)draw(FAR), (off_t)draw(100000) + 1), 0);
    }
}

static void map_one(void)
{
    struct stat status;
    const int fd = open(player.path, O_RDWR);
    if (fstat(fd, &status) == 0 && status.st_size > 0) {
        char *mapped = mmap(NULL, (size_t)status.st_size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
        if (mapped != MAP_FAILED) {
            const off_t at = (off_t)draw((uint64_t)status.st_size);
            mix(mapped + at, (size_t)(status.st_size - at < 9000 ? status.st_size - at : 9000));
            mapped[at] = (char)draw(256);
            munmap(mapped, (size_t)status.st_size);
        }
    }
    note("mmap", close(fd), 0);
}

static void fork_one(void)
{
    int status = 0;
    const pid_t child = fork();
    if (child == 0) { // the child moves the positions that it shares with its parent
        player.digest = 0;
        read_one();
        write_one();
        describe(one());
        _exit((int)(player.digest & 127));
    }
    waitpid(child, &status, 0);
    note("fork", status, 0);
    (void)draw(2);
}

static void step(void)
{
    switch (draw(16)) {
    case 0:
        open_one();
        break;
    case 1:
        duplicate();
        break;
    case 2:
        note("lseek", lseek(one(), (off_t)draw(FAR), SEEK_SET), 0);
        break;
    case 3:
        stream_one();
        break;
    case 4:
        change_size();
        break;
    case 5:
        map_one();
        break;
    case 6:
        if (draw(3) == 0) {
            fork_one();
        }
        break;
    case 7:
        note("sync", draw(2) ? fsync(one()) : fdatasync(one()), 0);
        break;
    case 8:
        describe(one());
        break;
    case 9:
    case 10:
    case 11:
    case 12:
        read_one();
        break;
    default:
        write_one();
    }
}

static void play(uint64_t number)
{
    player.random = (number + 1) * 0x9e3779b97f4a7c15ULL;
    player.digest = 0xcbf29ce484222325ULL;
    unlink(player.path);
    errno = UNTOUCHED;
    for (int i = 0; i < SLOTS; i++) {
        player.fds[i] = open(player.path, O_RDWR | O_CREAT, 0600);
    }
    for (int i = 0; i < STEPS; i++) {
        step();
    }
    if (player.stream) {
        fclose(player.stream);
        player.stream = NULL;
    }
    const int fd = open(player.path, O_RDONLY);
    for (ssize_t got = 1; got > 0; note("last read", got, got)) { // in small reads, which are never forwarded
        got = read(fd, player.buffer, 1000);
    }
    close(fd);
    for (int i = 0; i < SLOTS; i++) {
        close(player.fds[i]);
    }
    printf("%llu %016llx\n", (unsigned long long)number, (unsigned long long)player.digest);
}

int main(int argc, char **argv)
{
    if (argc < 4) {
        return 2;
    }
    player.path = argv[1];
    player.aloud = argc > 4;
    setvbuf(stdout, NULL, _IOLBF, 0);
    const uint64_t first = strtoull(argv[2], NULL, 10), count = strtoull(argv[3], NULL, 10);
    for (uint64_t i = first; i < first + count; i++) {
        play(i);
    }
    return 0;
}
