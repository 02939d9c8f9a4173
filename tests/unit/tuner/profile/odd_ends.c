// SPDX-License-Identifier: Apache-2.0
// Programs without MPI that a preloaded library might break; the first argument selects one.
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/vfs.h>
#include <unistd.h>

static int other = -1; // a file on another file system

static void end(int number)
{
    _exit(number == SIGUSR1 ? 42 : 1);
}

// Exits in a signal handler that runs on an alternate stack of the usual size.
static void stack(void)
{
    static char memory[8192];
    const stack_t own = {.ss_sp = memory, .ss_size = sizeof(memory)};
    const struct sigaction action = {.sa_handler = end, .sa_flags = SA_ONSTACK};

    sigaltstack(&own, NULL);
    sigaction(SIGUSR1, &action, NULL);
    raise(SIGUSR1);
}

static void *end_thread(void *unused)
{
    _exit(42);
    return unused;
}

static void thread(void)
{
    pthread_attr_t attributes;
    pthread_t made;

    pthread_attr_init(&attributes);
    pthread_attr_setstacksize(&attributes, PTHREAD_STACK_MIN);
    pthread_create(&made, &attributes, end_thread, NULL);
    pause();
}

// Passes invalid I/O vectors, for which the kernel, not the library, must report the error.
static void vectors(void)
{
    char text[] = "abcdef";
    const struct iovec parts[] = {{text, 2}, {text + 2, 4}};
    const struct iovec *volatile nowhere = (const struct iovec *)8;
    const int fd = fileno(tmpfile());

    printf("%d", (int)writev(fd, parts, 2));
    printf(" %d", (int)pwritev(fd, parts, 2, 6));
    const int reading = (int)readv(fd, nowhere, 3);
    printf(" %d %d", reading, errno == EFAULT);
    const int writing = (int)writev(fd, nowhere, 1 << 20);
    printf(" %d %d\n", writing, errno == EINVAL);
}

// Sets a file size limit below the size of a report, so that writing the report would end the program by SIGXFSZ.
static void limit(void)
{
    const struct rlimit most = {.rlim_cur = 64, .rlim_max = 64};

    setrlimit(RLIMIT_FSIZE, &most);
}

static void write_other(int number)
{
    (void)number;
    if (write(other, "x", 1) != 1)
        _exit(1);
}

// Replaces fstatfs, which only the witness calls, and raises a signal. The signal's handler writes to a file on another
// file system.
int fstatfs(int fd, struct statfs *found)
{
    if (other >= 0)
        raise(SIGUSR1);
    return (int)syscall(SYS_fstatfs, fd, found);
}

static void handler(void)
{
    signal(SIGUSR1, write_other);
    other = memfd_create("other", 0);
    const int fd = fileno(tmpfile());
    printf("%d\n", (int)write(fd, "x", 1));
}

int main(int argc, char **argv)
{
    static const struct {
        const char *word;
        void (*run)(void);
    } words[] = {{"stack", stack}, {"thread", thread}, {"vectors", vectors}, {"limit", limit}, {"handler", handler}};

    usleep(20000); // programs that run for less time leave no report
    for (size_t i = 0; argc > 1 && i < sizeof(words) / sizeof(*words); i++)
        if (strcmp(argv[1], words[i].word) == 0)
            words[i].run();
    return 0;
}
