// SPDX-License-Identifier: Apache-2.0
// A library for /etc/ld.so.preload of a virtual cluster, which lets ranks of MPICH share processors over UCX's TCP.
//
// 1. An idle rank sleeps until a message arrives. UCX polls its connections with epoll_wait and no timeout. On a
//    virtual cluster, many ranks share few processors, so that measurements of polling ranks show only the kernel's
//    time slices. A rank that slept runs at once when a message arrives.
// 2. A rank that waits in the barrier of MPI_Finalize continues to serve its connections. MPICH 4.0.2 flushes each
//    connection and then waits for the launcher in read(). UCX over TCP flushes a connection by a message that the peer
//    must acknowledge. A peer that already waits in read() never does, so that most programs hang at their end.
//
// Other processes are not affected: only a process that calls ucp_worker_progress is a rank.

#include <dlfcn.h>
#include <poll.h>
#include <stdbool.h>
#include <stddef.h>
#include <sys/epoll.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

typedef unsigned (*progress_function)(void *worker);
typedef void *(*disconnect_function)(void *endpoint);
typedef void (*destroy_function)(void *worker);

// Longest sleep. It is shorter than the latency of the network, so that work for which no message arrives, such as
// messages of a rank to itself, delays no message noticeably.
static const struct timespec NAP = {.tv_nsec = 200 * 1000};

static void *rank_worker;
static bool finalizing;

int epoll_wait(int fd, struct epoll_event *events, int most, int timeout_ms)
{
    int count = (int)syscall(SYS_epoll_wait, fd, events, most, timeout_ms);

    if (count == 0 && timeout_ms == 0 && rank_worker)
        count = (int)syscall(SYS_epoll_pwait2, fd, events, most, &NAP, NULL, 0);
    return count;
}

unsigned ucp_worker_progress(void *worker)
{
    static progress_function progress;

    if (!progress)
        progress = (progress_function)dlsym(RTLD_NEXT, "ucp_worker_progress");
    rank_worker = worker;
    return progress(worker);
}

void *ucp_disconnect_nb(void *endpoint)
{
    finalizing = true;
    return ((disconnect_function)dlsym(RTLD_NEXT, "ucp_disconnect_nb"))(endpoint);
}

void ucp_worker_destroy(void *worker)
{
    finalizing = false;
    ((destroy_function)dlsym(RTLD_NEXT, "ucp_worker_destroy"))(worker);
}

ssize_t read(int fd, void *data, size_t size)
{
    struct pollfd waiting = {.fd = fd, .events = POLLIN};

    while (finalizing && rank_worker && poll(&waiting, 1, 0) == 0)
        ucp_worker_progress(rank_worker);
    return syscall(SYS_read, fd, data, size);
}
