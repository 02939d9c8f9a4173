// SPDX-License-Identifier: Apache-2.0
// Programs that a preloaded library might break. WORD selects a program, which prints what it observes.
//
//   subject WORD FILE        FILE has 24 MiB; each 8-byte word is a number, the offset of the word
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

#define BYTES 4096
#define FILE_BYTES (24 << 20)
#define PROGRAM_BYTES (2 << 20)
#define UNTOUCHED 4242

ssize_t __read(int fd, void *to, size_t bytes);
ssize_t __read_chk(int fd, void *to, size_t bytes, size_t room);
ssize_t __pread64(int fd, void *to, size_t bytes, off64_t offset);
ssize_t __pread_chk(int fd, void *to, size_t bytes, off_t offset, size_t room);
ssize_t __pread64_chk(int fd, void *to, size_t bytes, off64_t offset, size_t room);
size_t __fread_chk(void *to, size_t room, size_t size, size_t count, FILE *stream);
size_t __fread_unlocked_chk(void *to, size_t room, size_t size, size_t count, FILE *stream);

static const char *path;

static void fail(const char *what)
{
    printf("%s: %s\n", what, strerror(errno));
    fflush(stdout);
    _exit(1);
}

static void cool(int fd)
{
    if (fdatasync(fd) || posix_fadvise(fd, 0, 0, POSIX_FADV_DONTNEED)) {
        fail("cool");
    }
}

static int open_cold(void)
{
    int fd = open(path, O_RDONLY);
    if (fd < 0) {
        fail("open");
    }
    cool(fd);
    return fd;
}

// Returns the file offset of read `i`. No offset occurs twice, but many reads fall into the same bins (of
// accelerators/sro/window.h).
static off_t place(int i)
{
    return (off_t)((i * 37LL) % (FILE_BYTES / BYTES)) * BYTES;
}

static void expect(const uint64_t *bytes, ssize_t got, off_t at)
{
    if (got != BYTES || bytes[0] != (uint64_t)at || bytes[BYTES / 8 - 1] != (uint64_t)at + BYTES - 8) {
        fail("bytes");
    }
    if (errno != UNTOUCHED) {
        fail("errno");
    }
}

static void read_some(int fd, int from, int to)
{
    uint64_t bytes[BYTES / 8];
    errno = UNTOUCHED;
    for (int i = from; i < to; i++) {
        expect(bytes, pread(fd, bytes, sizeof bytes, place(i)), place(i));
    }
}

// -- reads with every function that the library wraps --

static ssize_t by_name(const char *name, int fd, FILE *stream, void *to, off_t at)
{
    struct iovec vectors[2] = {{to, BYTES / 2}, {(char *)to + BYTES / 2, BYTES / 2}};
#define IS(word) (strcmp(name, #word) == 0)
    if (IS(pread)) {
        return pread(fd, to, BYTES, at);
    } else if (IS(pread64)) {
        return pread64(fd, to, BYTES, at);
    } else if (IS(__pread64)) {
        return __pread64(fd, to, BYTES, at);
    } else if (IS(__pread_chk)) {
        return __pread_chk(fd, to, BYTES, at, BYTES);
    } else if (IS(__pread64_chk)) {
        return __pread64_chk(fd, to, BYTES, at, BYTES);
    } else if (IS(preadv)) {
        return preadv(fd, vectors, 2, at);
    } else if (IS(preadv64)) {
        return preadv64(fd, vectors, 2, at);
    } else if (IS(preadv2)) {
        return preadv2(fd, vectors, 2, at, 0);
    } else if (IS(preadv64v2)) {
        return preadv64v2(fd, vectors, 2, at, 0);
    }
    if (strstr(name, "fread")) {
        if (fseeko(stream, at, SEEK_SET)) {
            return -1;
        } else if (IS(fread)) {
            return (ssize_t)fread(to, 1, BYTES, stream);
        } else if (IS(fread_unlocked)) {
            return (ssize_t)(fread_unlocked)(to, 1, BYTES, stream);
        } else if (IS(__fread_chk)) {
            return (ssize_t)__fread_chk(to, BYTES, 1, BYTES, stream);
        } else if (IS(__fread_unlocked_chk)) {
            return (ssize_t)__fread_unlocked_chk(to, BYTES, 1, BYTES, stream);
        }
    }
    if (lseek(fd, at, SEEK_SET) != at) {
        return -1;
    } else if (IS(read)) {
        return read(fd, to, BYTES);
    } else if (IS(__read)) {
        return __read(fd, to, BYTES);
    } else if (IS(__read_chk)) {
        return __read_chk(fd, to, BYTES, BYTES);
    } else if (IS(readv)) {
        return readv(fd, vectors, 2);
    } else if (IS(preadv2_current)) {
        return preadv2(fd, vectors, 2, -1, 0);
    }
    return -2;
}

static void name(const char *word)
{
    uint64_t bytes[BYTES / 8];
    int fd = open_cold();
    FILE *stream = fdopen(dup(fd), "r");
    errno = UNTOUCHED;
    for (int i = 0; i < 300; i++) {
        expect(bytes, by_name(word, fd, stream, bytes, place(i)), place(i));
    }
}

// -- programs that each test one property of the library --

static volatile sig_atomic_t handled;
static int handled_fd;

static void read_in_handler(int signal)
{
    (void)signal;
    int kept = errno;
    uint64_t bytes[BYTES / 8];
    int number = handled++;
    if (pread(handled_fd, bytes, sizeof bytes, place(number)) != BYTES || bytes[0] != (uint64_t)place(number)) {
        _exit(1);
    }
    errno = kept;
}

static void handler(void)
{
    const struct itimerval often = {{0, 200}, {0, 200}};
    struct sigaction action = {.sa_handler = read_in_handler, .sa_flags = SA_RESTART};
    handled_fd = open_cold();
    sigaction(SIGALRM, &action, NULL);
    setitimer(ITIMER_REAL, &often, NULL);
    for (int i = 0; handled < 200; i += 100) {
        read_some(handled_fd, i, i + 100);
        free(malloc(100000));
    }
}

static void *read_for_ever(void *argument)
{
    char byte;
    while (read(*(int *)argument, &byte, 1) >= 0) {
    }
    return NULL;
}

static void *read_all(void *argument)
{
    read_some(*(int *)argument, 0, 400);
    return NULL;
}

static void cancel(void)
{
    int ends[2], fd = open_cold();
    void *result = NULL;
    pthread_t thread;
    if (pipe(ends)) {
        fail("pipe");
    }
    pthread_create(&thread, NULL, read_for_ever, &ends[0]); // this thread is canceled while it waits in read
    pthread_cancel(thread);
    pthread_join(thread, &result);
    puts(result == PTHREAD_CANCELED ? "cancelled" : "not cancelled");
    for (int i = 0; i < 20; i++) { // threads that are canceled at a random point in read
        pthread_create(&thread, NULL, read_for_ever, &fd);
        sched_yield();
        pthread_cancel(thread);
        pthread_join(thread, &result);
    }
    read_some(fd, 0, 1000); // the library examines few of these reads
}

static void again(void)
{
    int fd = open_cold();
    for (int i = 0; i < 200; i++) {
        read_some(fd, 0, 400);
    }
}

static void once(void)
{
    read_some(open_cold(), 0, FILE_BYTES / BYTES);
}

static void threads(void)
{
    pthread_t all[8];
    int fd = open_cold();
    for (int i = 0; i < 8; i++) {
        pthread_create(&all[i], NULL, read_all, &fd);
    }
    for (int i = 0; i < 8; i++) {
        pthread_join(all[i], NULL);
    }
}

static void last_thread(void)
{
    static int fd;
    pthread_t thread;
    fd = open_cold();
    read_some(fd, 0, 100);
    pthread_create(&thread, NULL, read_all, &fd);
    puts("done");
    pthread_exit(NULL); // the process ends when the other thread does
}

static void forked(void)
{
    int fd = open_cold(), status = 0;
    read_some(fd, 0, 200);
    fflush(stdout);
    for (int i = 0; i < 3; i++) {
        pid_t child = fork();
        if (child == 0) {
            cool(fd);
            read_some(fd, 200, 500);
            exit(0);
        }
        waitpid(child, &status, 0);
        printf("%d\n", status);
    }
    cool(fd);
    read_some(fd, 500, 800);
}

static void vforked(void)
{
    int fd = open_cold(), status = 0;
    for (int i = 0; i < 20; i++) {
        pid_t child = vfork();
        if (child == 0) {
            uint64_t bytes[BYTES / 8];
            for (int j = 0; j < 20; j++) {
                if (pread(fd, bytes, sizeof bytes, place(j + 20 * i)) != BYTES) {
                    _exit(1);
                }
            }
            dup2(2, fd);
            close(fd);
            execl("/bin/true", "true", NULL);
            _exit(1);
        }
        waitpid(child, &status, 0);
        printf("%d\n", status);
        read_some(fd, 20 * i, 20 * i + 20);
    }
}

static void renumbered(void)
{
    for (int i = 0; i < 30; i++) {
        int fd = open_cold(), other = open("/dev/zero", O_RDONLY);
        uint64_t zeros[2] = {1, 1};
        read_some(fd, 0, 40);
        if (i % 3 == 0) {
            dup2(other, fd);
        } else if (i % 3 == 1) {
            close(fd);
            dup3(other, fd, O_CLOEXEC);
        } else {
            close_range((unsigned)fd, (unsigned)fd, 0);
            fd = dup(other);
        }
        printf("%d %zd %d\n", fd, read(fd, zeros, sizeof zeros), (int)zeros[1]);
        closefrom(3);
    }
}

// Writes a program to a file, closes the file, and executes it. Execution fails if the library still has the file open
// for writing.
static void executed(void)
{
    char copy[4096], bytes[BYTES];
    int from = open("/bin/true", O_RDONLY), status = 0;
    snprintf(copy, sizeof copy, "%s.true", path);
    for (int i = 0; i < 20; i++) {
        int to = open(copy, O_RDWR | O_CREAT | O_TRUNC, 0700);
        off_t at = 0;
        for (ssize_t got = 0; (got = pread(from, bytes, sizeof bytes, at)) > 0; at += got) {
            if (pwrite(to, bytes, (size_t)got, at) != got) {
                fail("pwrite");
            }
        }
        for (at = (at + BYTES) / BYTES * BYTES; at < PROGRAM_BYTES;
             at += BYTES) { // write data, because holes are read without delay
            if (pwrite(to, bytes, sizeof bytes, at) != BYTES) {
                fail("pwrite");
            }
        }
        cool(to);
        for (int j = 0; j < 8; j++) {
            if (pread(to, bytes, sizeof bytes, place(j) % PROGRAM_BYTES) != BYTES) {
                fail("pread");
            }
        }
        close(to);
        pid_t child = vfork();
        if (child == 0) {
            execl(copy, "true", NULL);
            _exit(errno);
        }
        waitpid(child, &status, 0);
        printf("%d\n", status);
    }
    unlink(copy);
}

// Reads a file that grows and shrinks while the library loads zones of it.
static void cut(void)
{
    static char zeros[8 << 20];
    uint64_t bytes[BYTES / 8];
    char copy[4096];
    snprintf(copy, sizeof copy, "%s.cut", path);
    int fd = open(copy, O_RDWR | O_CREAT | O_TRUNC, 0600);
    if (pwrite(fd, zeros, sizeof zeros, 0) != sizeof zeros) {
        fail("pwrite");
    }
    cool(fd);
    off_t size = sizeof zeros;
    for (int i = 0; i < 300; i++) {
        const off_t at = place(i) % (off_t)sizeof zeros;
        const ssize_t got = pread(fd, bytes, sizeof bytes, at);
        if (got != (at < size ? BYTES : 0) || (got && bytes[7] != 0)) {
            fail("bytes");
        }
        if (i % 8 == 7) {
            size = i % 16 == 7 ? 2 << 20 : (off_t)sizeof zeros;
            if (ftruncate(fd, size) || (i > 200 && pwrite(fd, zeros, 1 << 20, size) != 1 << 20)) {
                fail("ftruncate");
            }
            size += i > 200 ? 1 << 20 : 0;
        }
    }
    unlink(copy);
}

static void no_descriptors(void)
{
    const struct rlimit few = {16, 16};
    int fd = open_cold();
    setrlimit(RLIMIT_NOFILE, &few);
    while (dup(fd) >= 0) {
    }
    read_some(fd, 0, 400);
    printf("%d\n", dup(fd));
    close(fd + 1); // frees a descriptor, so that the library can write its report
}

static void no_threads(void)
{
    const struct rlimit none = {0, 0};
    int fd = open_cold();
    if (setrlimit(RLIMIT_NPROC, &none) || (getuid() == 0 && setresuid(65534, 65534, 65534))) {
        fail("setresuid");
    }
    read_some(fd, 0, 400);
}

static void namespace(void)
{
    int fd = open_cold();
    read_some(fd, 0, 400);
    printf("%d\n", unshare(CLONE_NEWUSER));
    read_some(fd, 400, 800);
}

static void direct(void)
{
    void *bytes = NULL;
    int fd = open(path, O_RDONLY | O_DIRECT);
    if (posix_memalign(&bytes, BYTES, BYTES)) {
        fail("posix_memalign");
    }
    errno = UNTOUCHED;
    for (int i = 0; i < 200; i++) {
        expect(bytes, pread(fd, bytes, BYTES, place(i)), place(i));
    }
}

static const struct {
    const char *word;
    void (*play)(void);
} claims[] = {
    {"handler", handler},
    {"cancel", cancel},
    {"again", again},
    {"once", once},
    {"threads", threads},
    {"last_thread", last_thread},
    {"forked", forked},
    {"vforked", vforked},
    {"executed", executed},
    {"renumbered", renumbered},
    {"cut", cut},
    {"no_threads", no_threads},
    {"direct", direct},
    {"namespace", namespace},
    {"no_descriptors", no_descriptors},
};

int main(int argc, char **argv)
{
    if (argc != 3) {
        return 2;
    }
    path = argv[2];
    for (size_t i = 0; i < sizeof claims / sizeof *claims; i++) {
        if (strcmp(claims[i].word, argv[1]) == 0) {
            claims[i].play();
            puts("done");
            return 0;
        }
    }
    name(argv[1]);
    puts("done");
    return 0;
}
