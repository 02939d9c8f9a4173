// SPDX-License-Identifier: Apache-2.0
// Programs that a library which moves bytes in another way might break. WORD selects a program, which prints what it
// observes.
//
//   subject WORD FILE        the program creates FILE
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
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

#define BLOCK (128 * 1024)
#define BLOCKS 24
#define UNTOUCHED 4242

static const char *path;

static void fail(const char *what)
{
    printf("%s: %s\n", what, strerror(errno));
    fflush(stdout);
    _exit(1);
}

// Fill a block with its number in the file.
static void make(uint64_t *block, uint64_t number)
{
    for (uint64_t i = 0; i < BLOCK / 8; i++) {
        block[i] = number << 32 | i;
    }
}

static bool is_made(const uint64_t *block, uint64_t number)
{
    for (uint64_t i = 0; i < BLOCK / 8; i++) {
        if (block[i] != (number << 32 | i)) {
            return false;
        }
    }
    return true;
}

static int create(void)
{
    int fd = open(path, O_RDWR | O_CREAT | O_TRUNC, 0600);
    if (fd < 0) {
        fail("open");
    }
    return fd;
}

static void write_blocks(int fd, uint64_t first, uint64_t count)
{
    static __thread uint64_t block[BLOCK / 8];
    errno = UNTOUCHED;
    for (uint64_t i = first; i < first + count; i++) {
        make(block, i);
        if (pwrite(fd, block, BLOCK, (off_t)i * BLOCK) != BLOCK || errno != UNTOUCHED) {
            fail("pwrite");
        }
    }
}

static void read_blocks(int fd, uint64_t first, uint64_t count)
{
    static __thread uint64_t block[BLOCK / 8];
    errno = UNTOUCHED;
    for (uint64_t i = first; i < first + count; i++) {
        if (pread(fd, block, BLOCK, (off_t)i * BLOCK) != BLOCK || errno != UNTOUCHED || !is_made(block, i)) {
            fail("pread");
        }
    }
}

static int created(void)
{
    int fd = create();
    write_blocks(fd, 0, BLOCKS);
    return fd;
}

static void plain(void)
{
    int fd = created();
    read_blocks(fd, 0, BLOCKS);
    printf("%d ", fsync(fd));
    printf("%d\n", close(fd));
}

// -- positions that threads and processes share --

static uint8_t seen[BLOCKS];
static int shared;

static void *take_blocks(void *argument)
{
    uint64_t *block = malloc(BLOCK);
    while (read(shared, block, BLOCK) == BLOCK) {
        const uint64_t number = block[0] >> 32;
        if (number >= BLOCKS || !is_made(block, number) || __atomic_fetch_add(&seen[number], 1, __ATOMIC_RELAXED)) {
            fail("block");
        }
    }
    free(block);
    return argument;
}

static void *give_blocks(void *argument)
{
    uint64_t *block = malloc(BLOCK);
    for (uint64_t i = 0; i < BLOCKS / 8; i++) {
        make(block, (uint64_t)(uintptr_t)argument * (BLOCKS / 8) + i);
        if (write(shared, block, BLOCK) != BLOCK) {
            fail("write");
        }
    }
    free(block);
    return NULL;
}

static void in_threads(void *(*work)(void *), int count)
{
    pthread_t threads[8];
    for (int i = 0; i < count; i++) {
        pthread_create(&threads[i], NULL, work, (void *)(uintptr_t)i);
    }
    for (int i = 0; i < count; i++) {
        pthread_join(threads[i], NULL);
    }
}

static void print_seen(void)
{
    int once = 0;
    for (int i = 0; i < BLOCKS; i++) {
        once += seen[i] == 1;
    }
    printf("%d blocks, position %ld\n", once, (long)lseek(shared, 0, SEEK_CUR));
}

static void threads_read(void)
{
    shared = created();
    in_threads(take_blocks, 8);
    print_seen();
}

static void threads_write(void)
{
    shared = create();
    in_threads(give_blocks, 8);
    printf("position %ld\n", (long)lseek(shared, 0, SEEK_CUR));
    lseek(shared, 0, SEEK_SET);
    take_blocks(NULL);
    print_seen();
}

static void processes(void)
{
    int status = 0;
    shared = create();
    for (uintptr_t i = 0; i < 8; i++) {
        if (fork() == 0) {
            give_blocks((void *)i);
            exit(0);
        }
    }
    while (wait(&status) > 0) {
        printf("%d\n", status);
    }
    printf("position %ld\n", (long)lseek(shared, 0, SEEK_CUR));
    lseek(shared, 0, SEEK_SET);
    take_blocks(NULL);
    print_seen();
}

// -- other processes --

static void forked(void)
{
    int fd = created(), status = 0;
    for (uint64_t i = 1; i < 4; i++) {
        if (fork() == 0) {
            read_blocks(fd, 0, BLOCKS);
            write_blocks(fd, i * BLOCKS, BLOCKS);
            exit(0);
        }
        write_blocks(fd, 0, BLOCKS); // at the same time as the child
    }
    while (wait(&status) > 0) {
        printf("%d\n", status);
    }
    read_blocks(fd, 0, 4 * BLOCKS);
}

static void vforked(void)
{
    static uint64_t block[BLOCK / 8];
    int fd = created(), status = 0;
    for (int i = 0; i < 10; i++) {
        pid_t child = vfork();
        if (child == 0) {
            make(block, 500);
            if (pwrite(fd, block, BLOCK, 500 * BLOCK) != BLOCK) {
                _exit(1);
            }
            dup2(2, fd);
            closefrom(3);
            execl("/bin/true", "true", NULL);
            _exit(1);
        }
        waitpid(child, &status, 0);
        printf("%d\n", status);
        read_blocks(fd, 0, 8);
        read_blocks(fd, 500, 1);
    }
}

// Writes a program to a file, closes the file, and executes it. Execution fails if any process still has the file open
// for writing.
static void executed(void)
{
    static char program[1 << 20];
    int from = open("/bin/true", O_RDONLY), status = 0;
    ssize_t got = read(from, program, sizeof program);
    (void)got;
    for (int i = 0; i < 5; i++) {
        int fd = open(path, O_RDWR | O_CREAT | O_TRUNC, 0700);
        if (pwrite(fd, program, sizeof program, 0) != sizeof program) {
            fail("pwrite");
        }
        close(fd);
        if (fork() == 0) {
            execl(path, "true", NULL);
            _exit(errno);
        }
        wait(&status);
        printf("%d\n", status);
    }
}

// -- signals and cancellation --

static volatile sig_atomic_t handled;
static int handled_fd;

// Let the next signal come after the program had its turn, however long a handler takes.
static void arm(void)
{
    const struct itimerval soon = {{0, 0}, {0, 700}};
    setitimer(ITIMER_REAL, &soon, NULL);
}

static void move_in_handler(int signal)
{
    static uint64_t block[BLOCK / 8];
    int kept = errno;
    uint64_t number = BLOCKS + (uint64_t)handled++ % 8;
    (void)signal;
    make(block, number);
    if (pwrite(handled_fd, block, BLOCK, (off_t)number * BLOCK) != BLOCK ||
        pread(handled_fd, block, BLOCK, (off_t)number * BLOCK) != BLOCK || !is_made(block, number)) {
        _exit(1);
    }
    arm();
    errno = kept;
}

static void handler(void)
{
    const struct itimerval never = {{0, 0}, {0, 0}};
    struct sigaction action = {.sa_handler = move_in_handler};
    handled_fd = created();
    sigaction(SIGALRM, &action, NULL);
    arm();
    while (handled < 100) {
        write_blocks(handled_fd, 0, 8);
        read_blocks(handled_fd, 0, 8);
        free(malloc(100000));
    }
    setitimer(ITIMER_REAL, &never, NULL);
}

static void *write_for_ever(void *argument)
{
    for (;;) {
        write_blocks(*(int *)argument, 0, 1);
    }
    return NULL;
}

static void cancel(void)
{
    int fd = created();
    for (int i = 0; i < 20; i++) {
        pthread_t thread;
        void *result = NULL;
        pthread_create(&thread, NULL, write_for_ever, &fd);
        usleep(1000 * (unsigned)(i % 4));
        pthread_cancel(thread);
        pthread_join(thread, &result);
        puts(result == PTHREAD_CANCELED ? "canceled" : "not canceled");
    }
    read_blocks(fd, 0, BLOCKS);
}

static void *read_all(void *argument)
{
    read_blocks(*(int *)argument, 0, BLOCKS);
    return NULL;
}

static void last_thread(void)
{
    static int fd;
    pthread_t thread;
    fd = created();
    pthread_create(&thread, NULL, read_all, &fd);
    puts("done");
    pthread_exit(NULL); // the process ends when the other thread does
}

// -- descriptors --

// Closes all descriptors, including those that the program does not know of, and uses their numbers for its own.
static void close_all(void)
{
    for (int i = 0; i < 12; i++) {
        char byte = 0;
        int pair[2], fd = created();
        if (i % 4 == 0) {
            closefrom(fd + 1);
        } else if (i % 4 == 1) {
            close_range((unsigned)fd + 1, ~0U, 0);
        } else {
            for (int j = fd + 1; j < 2000; j++) { // in some rounds with the system call, which no library sees
                i % 4 == 2 ? close(j) : (int)syscall(SYS_close, j);
            }
        }
        socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, pair);
        for (int j = fd + 1; j < 1000; j++) {
            i % 4 == 3 ? (int)syscall(SYS_dup3, pair[0], j, 0) : dup2(pair[0], j);
        }
        write_blocks(fd, 0, 8);
        read_blocks(fd, 0, 8);
        printf("%zd\n", recv(pair[1], &byte, 1, 0)); // nothing of the library's may arrive here
        closefrom(3);
    }
}

static void renumbered(void)
{
    static char zeros[BLOCK];
    for (int i = 0; i < 9; i++) {
        int fd = created(), other = open("/dev/zero", O_RDONLY);
        read_blocks(fd, 0, 4);
        if (i % 3 == 0) {
            dup2(other, fd);
        } else if (i % 3 == 1) {
            close(fd);
            dup3(other, fd, O_CLOEXEC);
        } else {
            close_range((unsigned)fd, (unsigned)fd, 0);
            fd = dup(other);
        }
        memset(zeros, 1, sizeof zeros);
        printf("%d %zd %d\n", fd, read(fd, zeros, sizeof zeros), zeros[BLOCK - 1]);
        closefrom(3);
    }
}

static void no_descriptors(void)
{
    const struct rlimit few = {16, 16};
    int fd = create();
    setrlimit(RLIMIT_NOFILE, &few);
    while (dup(fd) >= 0) {
    }
    write_blocks(fd, 0, BLOCKS);
    read_blocks(fd, 0, BLOCKS);
    printf("%d\n", dup(fd));
    closefrom(fd + 1);
}

static void refused(void)
{
    void *volatile nowhere = (void *)-4096;
    static char bytes[BLOCK];
    int fd = created();
    int reader = open(path, O_RDONLY), writer = open(path, O_WRONLY), pathed = open(path, O_PATH);
    int results[] = {
        pwrite(reader, bytes, BLOCK, 0) == -1 && errno == EBADF,
        pread(writer, bytes, BLOCK, 0) == -1 && errno == EBADF,
        pread(pathed, bytes, BLOCK, 0) == -1 && errno == EBADF,
        pwrite(fd, bytes, BLOCK, -1) == -1 && errno == EINVAL,
        pread(fd, bytes, BLOCK, -2) == -1 && errno == EINVAL,
        pread(fd, nowhere, BLOCK, 0) == -1 && errno == EFAULT,
        pwrite(fd, nowhere, BLOCK, 0) == -1 && errno == EFAULT,
        read(1000, bytes, BLOCK) == -1 && errno == EBADF,
        pwrite(fd, bytes, BLOCK, INT64_MAX - 5) == -1 && errno,
        lseek(fd, INT64_MAX - 5, SEEK_SET) >= 0 ? write(fd, bytes, BLOCK) == -1 && errno : 2,
    };
    for (size_t i = 0; i < sizeof results / sizeof *results; i++) {
        printf("%d\n", results[i]);
    }
    read_blocks(fd, 0, BLOCKS);
}

static void limited(void)
{
    static uint64_t block[BLOCK / 8];
    const struct rlimit limit = {10 * BLOCK + 1000, 10 * BLOCK + 1000};
    int fd = create();
    signal(SIGXFSZ, SIG_IGN);
    setrlimit(RLIMIT_FSIZE, &limit);
    for (uint64_t i = 0; i < 12; i++) {
        make(block, i);
        const ssize_t put = write(fd, block, BLOCK);
        printf("%zd %d\n", put, put < 0 ? errno : 0);
    }
    printf("%ld\n", (long)lseek(fd, 0, SEEK_END));
}

// -- files --

static void unlinked(void)
{
    char other[4096];
    int fd = created();
    snprintf(other, sizeof other, "%s.other", path);
    rename(path, other);
    write_blocks(fd, BLOCKS, 8);
    read_blocks(fd, 0, BLOCKS + 8);
    int second = created(); // another file at the first one's path
    write_blocks(fd, BLOCKS + 8, 8);
    unlink(other);
    write_blocks(fd, BLOCKS + 16, 8);
    read_blocks(fd, 0, BLOCKS + 24);
    read_blocks(second, 0, BLOCKS);
    struct stat status;
    fstat(second, &status);
    printf("%ld\n", (long)status.st_size);
}

static void appended(void)
{
    static uint64_t block[BLOCK / 8];
    int fd = create(), appending = open(path, O_WRONLY | O_APPEND);
    for (uint64_t i = 0; i < BLOCKS; i++) {
        make(block, i);
        if (write(i % 2 ? appending : fd, block, BLOCK) != BLOCK) {
            fail("write");
        }
        lseek(fd, 0, SEEK_END);
    }
    read_blocks(fd, 0, BLOCKS);
}

static void mapped(void)
{
    static uint64_t block[BLOCK / 8];
    int fd = created();
    uint64_t *memory = mmap(NULL, BLOCKS * BLOCK, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    for (uint64_t i = 0; i < BLOCKS; i++) {
        make(block, i + 1000);
        pwrite(fd, block, BLOCK, (off_t)i * BLOCK);
        if (!is_made(memory + i * (BLOCK / 8), i + 1000)) {
            fail("mapping");
        }
        make(memory + i * (BLOCK / 8), i);
    }
    read_blocks(fd, 0, BLOCKS);
    printf("%zd\n", pwrite(fd, memory, BLOCK, 0)); // from the file's own pages
    read_blocks(fd, 0, 1);
}

static void grown(void)
{
    static char bytes[3 * BLOCK];
    int fd = created();
    for (int i = 0; i < 20; i++) {
        ftruncate(fd, (off_t)(i * 50000));
        printf("%zd ", pread(fd, bytes, sizeof bytes, 0));
        printf("%zd ", pread(fd, bytes, sizeof bytes, (off_t)(i * 50000) - 100000));
        lseek(fd, 70000, SEEK_SET);
        printf("%zd ", read(fd, bytes, sizeof bytes));
        printf("%ld\n", (long)lseek(fd, 0, SEEK_CUR));
    }
}

static void streamed(void)
{
    static uint64_t block[2 * BLOCK / 8];
    FILE *stream = fopen(path, "w+");
    int character = 0;
    for (uint64_t i = 0; i < BLOCKS; i++) {
        make(block, i);
        if (fputc('a', stream) != 'a' || fwrite(block, 8, BLOCK / 8, stream) != BLOCK / 8) {
            fail("fwrite");
        }
    }
    printf("%ld\n", ftell(stream));
    rewind(stream);
    for (uint64_t i = 0; i < BLOCKS; i++) {
        memset(block, 0, BLOCK);
        character = fgetc(stream);
        if (character != 'a' || fread(block, 8, BLOCK / 8, stream) != BLOCK / 8 || !is_made(block, i)) {
            fail("fread");
        }
    }
    printf("%d ", feof(stream));
    printf("%zu %d %ld\n", fread(block, 8, BLOCK / 8, stream), feof(stream) != 0, ftell(stream));
    fseek(stream, -BLOCK - 5, SEEK_END);
    printf("%zu %d\n", fread(block, 1, 2 * BLOCK, stream) % BLOCK, feof(stream) != 0);
    printf("%d\n", fclose(stream));
}

static const struct {
    const char *word;
    void (*play)(void);
} claims[] = {
    {"plain", plain},
    {"threads_read", threads_read},
    {"threads_write", threads_write},
    {"forked", forked},
    {"processes", processes},
    {"vforked", vforked},
    {"handler", handler},
    {"executed", executed},
    {"cancel", cancel},
    {"close_all", close_all},
    {"last_thread", last_thread},
    {"renumbered", renumbered},
    {"refused", refused},
    {"no_descriptors", no_descriptors},
    {"limited", limited},
    {"unlinked", unlinked},
    {"appended", appended},
    {"mapped", mapped},
    {"grown", grown},
    {"streamed", streamed},
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
    return 2;
}
