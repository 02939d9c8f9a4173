// SPDX-License-Identifier: Apache-2.0
// Plays random sequences of file operations. For each sequence, it prints a digest of everything that a program can
// see: results, errno, and every byte read.
//
//   player DIRECTORY FIRST COUNT [all]     needs the file `big` in DIRECTORY; `all` also prints each operation
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

#define SLOTS 12
#define ROOM (96 * 1024)
#define UNTOUCHED 4242 // an errno that no call sets

struct player {
    uint64_t random;
    uint64_t digest;
    bool aloud;
    int fds[SLOTS];
    FILE *streams[SLOTS];
    char buffer[ROOM];
};

static const char *big = "big";
static bool aloud;

static uint64_t draw(struct player *player, uint64_t below)
{
    player->random ^= player->random << 13;
    player->random ^= player->random >> 7;
    player->random ^= player->random << 17;
    return (player->random >> 11) % below;
}

static void mix(struct player *player, const void *bytes, size_t count)
{
    for (const unsigned char *byte = bytes; count--; byte++) {
        player->digest = (player->digest ^ *byte) * 0x100000001b3ULL;
    }
}

static void note(struct player *player, const char *what, long result, long bytes)
{
    const long seen[] = {result, errno};
    mix(player, seen, sizeof seen);
    if (bytes > 0) {
        mix(player, player->buffer, (size_t)bytes < ROOM ? (size_t)bytes : ROOM);
    }
    if (player->aloud) {
        printf("  %s = %ld, errno %d, digest %016llx\n", what, result, errno, (unsigned long long)player->digest);
    }
    errno = UNTOUCHED;
}

static off_t place(struct player *player)
{
    static const off_t odd[] = {-1, -5, 0, 1, 4095, 1 << 20, (off_t)1 << 40, INT64_MAX};
    switch (draw(player, 8)) {
    case 0:
        return odd[draw(player, sizeof odd / sizeof *odd)];
    case 1:
        return (off_t)draw(player, 9 << 20);
    default: // an offset in one of three short ranges, which are therefore read often
        return (off_t)(draw(player, 3) * (2 << 20) + draw(player, 200000));
    }
}

static size_t length(struct player *player)
{
    return draw(player, 16) ? draw(player, 9000) : draw(player, ROOM);
}

static int one(struct player *player)
{
    return draw(player, 20) ? player->fds[draw(player, SLOTS)] : (int)draw(player, 4) - 2 + 500;
}

// Stores a descriptor in a random slot and closes the descriptor that was there.
static void keep(struct player *player, int fd)
{
    uint64_t slot = draw(player, SLOTS);
    note(player, "close", close(player->fds[slot]), 0);
    player->fds[slot] = fd;
}

static int open_one(struct player *player, const char *own)
{
    static const int flags[] = {O_RDONLY, O_RDWR, O_WRONLY, O_RDWR | O_APPEND, O_RDONLY | O_CLOEXEC, O_PATH, O_RDONLY};
    int pair[2] = {-1, -1};
    switch (draw(player, 12)) {
    case 0:
        return open("/proc/version", O_RDONLY);
    case 1:
        if (pipe2(pair, O_NONBLOCK) == 0) {
            note(player, "write", write(pair[1], "a pipe's bytes", 14), 0);
            keep(player, pair[1]);
        }
        return pair[0];
    case 2:
        if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, pair) == 0) {
            note(player, "send", send(pair[1], "a socket's bytes", 16, MSG_NOSIGNAL), 0);
            note(player, "close", close(pair[1]), 0);
        }
        return pair[0];
    case 3:
        return open("/dev/zero", O_RDONLY);
    case 4:
        return open(".", O_RDONLY | O_DIRECTORY);
    case 5:
    case 6:
    case 7:
        return open(own, flags[draw(player, sizeof flags / sizeof *flags)]);
    default:
        return open(big, flags[draw(player, 2) * 4]);
    }
}

static void read_vectors(struct player *player, int fd)
{
    size_t first = draw(player, 5000), second = draw(player, 5000);
    struct iovec to[2] = {{player->buffer, first}, {player->buffer + first, second}};
    ssize_t got = 0;
    off_t at = place(player);
    switch (draw(player, 4)) {
    case 0:
        got = readv(fd, to, 2);
        note(player, "readv", got, got);
        break;
    case 1:
        got = preadv(fd, to, 2, at);
        note(player, "preadv", got, got);
        break;
    case 2:
        got = preadv2(fd, to, 2, at, 0);
        note(player, "preadv2", got, got);
        break;
    default:
        to[1].iov_len = SIZE_MAX;
        got = readv(fd, to, 2);
        note(player, "readv of too much", got, 0);
    }
}

static void read_one(struct player *player)
{
    int fd = one(player);
    ssize_t got = 0;
    switch (draw(player, 6)) {
    case 0:
    case 1:
        got = read(fd, player->buffer, length(player));
        note(player, "read", got, got);
        break;
    case 2:
        got = read(fd, draw(player, 2) ? NULL : (void *)-4096, 100);
        note(player, "read to nowhere", got, 0);
        break;
    case 3:
        read_vectors(player, fd);
        break;
    default:
        got = pread(fd, player->buffer, length(player), place(player));
        note(player, "pread", got, got);
    }
}

static void write_one(struct player *player, const char *own)
{
    int fd = open(own, draw(player, 2) ? O_WRONLY : O_RDWR | O_APPEND);
    size_t bytes = length(player);
    memset(player->buffer, (int)draw(player, 256), bytes);
    switch (draw(player, 4)) {
    case 0:
        note(player, "ftruncate", ftruncate(fd, (off_t)draw(player, 4 << 20)), 0);
        break;
    case 1:
        note(player, "write", write(player->fds[draw(player, SLOTS)], player->buffer, bytes / 64), 0);
        break;
    default:
        note(player, "pwrite", pwrite(fd, player->buffer, bytes, (off_t)draw(player, 3 << 20)), 0);
    }
    note(player, "close", close(fd), 0);
}

static void stream_one(struct player *player, const char *own)
{
    FILE **stream = &player->streams[draw(player, 4)];
    size_t got = 0;
    if (!*stream) {
        *stream = draw(player, 3) ? fopen(big, "r") : fopen(own, draw(player, 4) ? "r" : "r+");
        note(player, "fopen", *stream ? fileno(*stream) : -1, 0);
        return;
    }
    switch (draw(player, 12)) {
    case 0:
        note(player, "fclose", fclose(*stream), 0);
        *stream = NULL;
        break;
    case 1:
        *stream = freopen(draw(player, 2) ? big : own, "r", *stream);
        note(player, "freopen", *stream ? fileno(*stream) : -1, 0);
        break;
    case 2:
        note(player, "ftello", ftello(*stream), 0);
        break;
    case 3:
        note(player, "getc", getc(*stream), 0);
        break;
    case 4:
        note(player, "ungetc", ungetc('x', *stream), 0);
        break;
    case 5:
    case 6:
    case 7:
        note(player, "fseeko", fseeko(*stream, place(player), draw(player, 4) ? SEEK_SET : SEEK_CUR), 0);
        break;
    default:
        got = fread(player->buffer, 1 + draw(player, 3), length(player) / 3, *stream);
        note(player, "fread", (long)got, (long)got);
        note(player, "ferror", ferror(*stream) * 2 + feof(*stream), 0);
    }
}

static void change_one(struct player *player)
{
    int to = 0;
    switch (draw(player, 7)) {
    case 0:
        keep(player, dup(one(player)));
        break;
    case 1:
        to = player->fds[draw(player, SLOTS)];
        note(player, "dup2", dup2(one(player), to), 0);
        break;
    case 2:
        to = player->fds[draw(player, SLOTS)];
        note(player, "dup3", dup3(one(player), to, O_CLOEXEC), 0);
        break;
    case 3:
        to = one(player);
        note(player, "close", close(to), 0);
        break;
    case 4:
        to = (int)draw(player, 40) + 3;
        note(player, "close_range", close_range((unsigned)to, (unsigned)to + 2, draw(player, 4) ? 0 : 4), 0);
        break;
    case 5:
        to = open(big, O_RDONLY); // drop the file from memory
        note(player, "fadvise", posix_fadvise(to, 0, 0, POSIX_FADV_DONTNEED), 0);
        note(player, "close", close(to), 0);
        break;
    default:
        note(player, "lseek", lseek(one(player), place(player), (int)draw(player, 4)), 0);
    }
}

static void *read_in_thread(void *argument)
{
    struct player *player = argument;
    errno = UNTOUCHED;
    for (int i = 0; i < 30; i++) {
        ssize_t got = pread(player->fds[0], player->buffer, length(player), place(player));
        note(player, "pread in a thread", got, got);
        if (i % 10 == 9) {
            note(player, "lseek in a thread", lseek(player->fds[1], (off_t)draw(player, 1 << 20), SEEK_SET), 0);
            got = read(player->fds[1], player->buffer, length(player));
            note(player, "read in a thread", got, got);
        }
    }
    return NULL;
}

static void thread_all(struct player *player)
{
    enum { THREADS = 3 };
    static struct player threads[THREADS];
    pthread_t started[THREADS];
    for (int i = 0; i < THREADS; i++) {
        threads[i].random = draw(player, UINT64_MAX) | 1;
        threads[i].digest = 0;
        threads[i].aloud = false;
        threads[i].fds[0] = i ? threads[0].fds[0] : open(big, O_RDONLY);
        threads[i].fds[1] = open(big, O_RDONLY);
    }
    for (int i = 0; i < THREADS; i++) {
        if (pthread_create(&started[i], NULL, read_in_thread, &threads[i])) {
            abort();
        }
    }
    for (int i = 0; i < THREADS; i++) {
        pthread_join(started[i], NULL);
        note(player, "a thread", (long)threads[i].digest, 0);
        close(threads[i].fds[1]);
    }
    close(threads[0].fds[0]);
    errno = UNTOUCHED;
}

static void step(struct player *player, const char *own, int depth);

static void fork_one(struct player *player, const char *own, int depth)
{
    int status = 0;
    fflush(stdout);
    pid_t child = draw(player, 3) ? fork() : vfork();
    if (child == 0 && draw(player, 2)) {
        execl("/bin/true", "true", NULL);
        _exit(3);
    }
    if (child == 0) {
        close(player->fds[0]);
        _exit((int)(player->fds[1] & 63));
    }
    note(player, "vfork or fork", waitpid(child, &status, 0) == child, 0);
    note(player, "its status", status, 0);
    child = fork();
    if (child == 0) {
        for (int i = 0; i < 20; i++) {
            step(player, own, depth + 1);
        }
        fflush(stdout);
        _exit((int)(player->digest & 127));
    }
    note(player, "fork", waitpid(child, &status, 0) == child, 0);
    note(player, "its status", status, 0);
}

static void step(struct player *player, const char *own, int depth)
{
    switch (draw(player, 40)) {
    case 0:
        if (draw(player, 6) == 0 && depth < 2) {
            fork_one(player, own, depth);
        }
        break;
    case 1:
        if (draw(player, 3) == 0) {
            thread_all(player);
        }
        break;
    case 2:
    case 3:
    case 4:
    case 5:
        keep(player, open_one(player, own));
        break;
    case 6:
    case 7:
    case 8:
    case 9:
        change_one(player);
        break;
    case 10:
    case 11:
        write_one(player, own);
        break;
    case 12:
    case 13:
    case 14:
    case 15:
    case 16:
    case 17:
        stream_one(player, own);
        break;
    default:
        read_one(player);
    }
}

static void play(struct player *player, uint64_t seed)
{
    char own[64];
    int fd = -1;
    snprintf(own, sizeof own, "own.%d", (int)getpid());
    *player = (struct player){.random = (seed + 1) * 0x9E3779B97F4A7C15ULL, .digest = 0xcbf29ce484222325ULL};
    player->aloud = aloud;
    fd = open(own, O_RDWR | O_CREAT | O_TRUNC, 0600);
    if (ftruncate(fd, 3 << 20)) { // make the file sparse
        abort();
    }
    close(fd);
    for (int i = 0; i < SLOTS; i++) {
        player->fds[i] = i % 2 ? open(own, O_RDWR) : open(big, O_RDONLY);
    }
    errno = UNTOUCHED;
    for (int i = 0; i < 120; i++) {
        step(player, own, 0);
    }
    for (int i = 0; i < 4; i++) {
        if (player->streams[i]) {
            note(player, "fclose", fclose(player->streams[i]), 0);
        }
    }
    closefrom(3);
    unlink(own);
}

int main(int argc, char **argv)
{
    static struct player player;
    if (argc < 4 || chdir(argv[1])) {
        return 2;
    }
    aloud = argc > 4;
    signal(SIGPIPE, SIG_IGN);
    const uint64_t first = strtoull(argv[2], NULL, 10), count = strtoull(argv[3], NULL, 10);
    for (uint64_t seed = first; seed < first + count; seed++) {
        if (aloud) {
            printf("%llu\n", (unsigned long long)seed);
        }
        play(&player, seed);
        printf("%llu %016llx\n", (unsigned long long)seed, (unsigned long long)player.digest);
    }
    return fflush(stdout) ? 1 : 0;
}
