// SPDX-License-Identifier: Apache-2.0
#define _GNU_SOURCE
#include "link.h"

#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <time.h>

#include "clock.h"
#include "map.h"
#include "raw.h"

// Sockets of this process. Not in the state, because a forked child needs them to close its copies.
static struct {
    _Atomic int32_t descriptor; // plus 1; 0 if this entry is free
    _Atomic uint64_t inode;
} sockets[LINKS_MAX];

static void remember(int descriptor, ino_t inode)
{
    for (int i = 0; i < LINKS_MAX; i++) {
        int32_t none = 0;
        if (atomic_compare_exchange_strong(&sockets[i].descriptor, &none, descriptor + 1)) {
            atomic_store(&sockets[i].inode, inode);
            return;
        }
    }
}

static void forget(int descriptor)
{
    for (int i = 0; i < LINKS_MAX; i++) {
        int32_t ours = descriptor + 1;
        atomic_compare_exchange_strong(&sockets[i].descriptor, &ours, 0);
    }
}

static bool is_socket(int descriptor, ino_t inode)
{
    struct stat status;
    return !raw_fstat(descriptor, &status) && S_ISSOCK(status.st_mode) && status.st_ino == inode;
}

void link_forget_inherited(void)
{
    for (int i = 0; i < LINKS_MAX; i++) {
        const int descriptor = atomic_exchange(&sockets[i].descriptor, 0) - 1;
        if (descriptor >= 0 && is_socket(descriptor, atomic_load(&sockets[i].inode))) {
            raw_call(SYS_close, descriptor, 0, 0, 0, 0, 0);
        }
    }
}

// Classify an error number of a call on a socket.
static enum link_result result_of(long error)
{
    switch (-error) {
    case ETIMEDOUT:
    case EHOSTUNREACH:
    case EHOSTDOWN:
    case ENETUNREACH:
    case ENETDOWN:
        return LINK_LOST;
    default:
        return LINK_ENDED;
    }
}

static enum link_result await(int descriptor, short events, int64_t deadline_ns)
{
    struct pollfd one = {.fd = descriptor, .events = events};
    for (;;) {
        const int64_t left = deadline_ns - clock_now_ns();
        const struct timespec time = {left / 1000000000LL, left % 1000000000LL};
        if (left <= 0) {
            return LINK_LOST;
        }
        const long ready = raw_call(SYS_ppoll, (long)&one, 1, (long)&time, 0, 0, 0);
        if (ready > 0) {
            return one.revents & POLLNVAL ? LINK_ENDED : LINK_OK;
        }
        if (ready < 0 && ready != -EINTR) {
            return LINK_ENDED;
        }
    }
}

// Give a descriptor a number that programs rarely use, because some programs close low numbers without asking. Returns
// the new number, or -1.
static int move_up(int descriptor)
{
    struct rlimit limit = {.rlim_cur = 0};
    raw_call(SYS_prlimit64, 0, RLIMIT_NOFILE, 0, (long)&limit, 0, 0);
    const long first = limit.rlim_cur > FIRST_DESCRIPTOR + LINKS_MAX ? FIRST_DESCRIPTOR
                       : limit.rlim_cur > 2 * LINKS_MAX              ? (long)limit.rlim_cur - LINKS_MAX
                                                                     : 3;
    const long moved = raw_call(SYS_fcntl, descriptor, F_DUPFD_CLOEXEC, first, 0, 0, 0);
    raw_call(SYS_close, descriptor, 0, 0, 0, 0, 0);
    return moved < 0 ? -1 : (int)moved;
}

static void set(int descriptor, int level, int option, int value)
{
    raw_call(SYS_setsockopt, descriptor, level, option, (long)&value, sizeof value, 0);
}

static void set_options(int descriptor)
{
    set(descriptor, IPPROTO_TCP, TCP_NODELAY, 1);
    set(descriptor, SOL_SOCKET, SO_KEEPALIVE, 1);
    set(descriptor, IPPROTO_TCP, TCP_KEEPIDLE, DEAD_AFTER_S);
    set(descriptor, IPPROTO_TCP, TCP_KEEPINTVL, DEAD_EVERY_S);
    set(descriptor, IPPROTO_TCP, TCP_KEEPCNT, DEAD_COUNT);
}

static enum link_result connect_to(int descriptor, const struct sockaddr_storage *to, socklen_t size,
                                   int64_t deadline_ns)
{
    int error = 0;
    socklen_t room = sizeof error;
    const struct timespec short_time = {.tv_nsec = 1000000};
    long done = 0;
    while ((done = raw_call(SYS_connect, descriptor, (long)to, size, 0, 0, 0)) == -EAGAIN) { // a Unix socket's queue
        if (clock_now_ns() > deadline_ns) {
            return LINK_LOST;
        }
        raw_call(SYS_nanosleep, (long)&short_time, 0, 0, 0, 0, 0);
    }
    if (done != -EINPROGRESS) {
        return done ? result_of(done) : LINK_OK;
    }
    const enum link_result result = await(descriptor, POLLOUT, deadline_ns);
    if (result != LINK_OK) {
        return result;
    }
    raw_call(SYS_getsockopt, descriptor, SOL_SOCKET, SO_ERROR, (long)&error, (long)&room, 0);
    return error ? result_of(-error) : LINK_OK;
}

enum link_result link_open(struct link *link, int64_t deadline_ns)
{
    struct sockaddr_storage to;
    struct stat status;
    const socklen_t size = map_address(link->address, strlen(link->address), &to);
    const int type = SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK;
    long descriptor = size ? raw_call(SYS_socket, to.ss_family, type, 0, 0, 0, 0) : -1;
    if (descriptor < 0 || (descriptor = move_up((int)descriptor)) < 0) {
        return LINK_REFUSED; // the process has no descriptor left, which says nothing about the forwarder
    }
    if (to.ss_family != AF_UNIX) {
        set_options((int)descriptor);
    }
    const enum link_result result = connect_to((int)descriptor, &to, size, deadline_ns);
    if (result != LINK_OK || raw_fstat((int)descriptor, &status)) {
        raw_call(SYS_close, descriptor, 0, 0, 0, 0, 0);
        return result == LINK_OK ? LINK_ENDED : result;
    }
    link->socket = status.st_ino;
    remember((int)descriptor, status.st_ino);
    atomic_store(&link->descriptor, (int32_t)descriptor + 1);
    return LINK_OK;
}

void link_close(struct link *link)
{
    const int descriptor = atomic_exchange(&link->descriptor, 0) - 1;
    if (descriptor < 0) {
        return;
    }
    forget(descriptor);
    if (is_socket(descriptor, link->socket)) {
        raw_call(SYS_shutdown, descriptor, SHUT_RDWR, 0, 0, 0, 0); // a forked child may have a copy
        raw_call(SYS_close, descriptor, 0, 0, 0, 0, 0);
    }
}

bool link_is_whole(const struct link *link)
{
    const int descriptor = atomic_load(&link->descriptor) - 1;
    return descriptor >= 0 && is_socket(descriptor, link->socket);
}

bool link_is_over(const struct link *link)
{
    const int descriptor = atomic_load(&link->descriptor) - 1;
    char byte;
    const long got =
        descriptor < 0 ? 0 : raw_call(SYS_recvfrom, descriptor, (long)&byte, 1, MSG_PEEK | MSG_DONTWAIT, 0, 0);
    return got == 0 || (got < 0 && got != -EAGAIN && got != -EINTR);
}

static bool is_within(int32_t descriptor, int first, int last)
{
    return descriptor > first && descriptor <= (int64_t)last + 1;
}

bool link_has(struct state *state, int first, int last)
{
    for (int i = 0; i < LINKS_MAX; i++) {
        if (is_within(atomic_load_explicit(&state->links[i].descriptor, memory_order_relaxed), first, last)) {
            return true;
        }
    }
    return false;
}

void link_give_up(struct state *state, int first, int last)
{
    for (int i = 0; i < LINKS_MAX; i++) {
        struct link *link = &state->links[i];
        int32_t descriptor = atomic_load_explicit(&link->descriptor, memory_order_relaxed);
        if (is_within(descriptor, first, last) && atomic_compare_exchange_strong(&link->descriptor, &descriptor, 0)) {
            forget(descriptor - 1);
        }
    }
}

// Leave out the first bytes of the buffers, which were sent or received. Returns the number of buffers left out.
static int pass(struct iovec *vectors, int count, size_t bytes)
{
    int whole = 0;
    while (whole < count && bytes >= vectors[whole].iov_len) {
        bytes -= vectors[whole].iov_len;
        whole++;
    }
    if (whole < count) {
        vectors[whole].iov_base = link_at(vectors[whole].iov_base, bytes);
        vectors[whole].iov_len -= bytes;
    }
    return whole;
}

static enum link_result move(struct link *link, struct iovec *vectors, int count, int64_t deadline_ns, bool sending)
{
    const int whole = pass(vectors, count, 0);
    vectors += whole;
    count -= whole;
    while (count) {
        const int descriptor = atomic_load(&link->descriptor) - 1;
        struct msghdr header = {.msg_iov = vectors, .msg_iovlen = (size_t)count};
        if (descriptor < 0) {
            return LINK_ENDED;
        }
        const long moved = raw_call(sending ? SYS_sendmsg : SYS_recvmsg, descriptor, (long)&header,
                                    MSG_DONTWAIT | MSG_NOSIGNAL, 0, 0, 0);
        if (moved > 0) {
            const int passed = pass(vectors, count, (size_t)moved);
            vectors += passed;
            count -= passed;
        } else if (moved == -EAGAIN) {
            const enum link_result result = await(descriptor, sending ? POLLOUT : POLLIN, deadline_ns);
            if (result != LINK_OK) {
                return result;
            }
        } else if (moved != -EINTR) {
            link->faulted = moved == -EFAULT;
            return moved ? result_of(moved) : LINK_ENDED;
        }
    }
    return LINK_OK;
}

enum link_result link_send(struct link *link, struct iovec *vectors, int count, int64_t deadline_ns)
{
    return move(link, vectors, count, deadline_ns, true);
}

enum link_result link_receive(struct link *link, struct iovec *vectors, int count, int64_t deadline_ns)
{
    return move(link, vectors, count, deadline_ns, false);
}

void link_settle(struct link *link, int64_t deadline_ns)
{
    const int descriptor = atomic_load(&link->descriptor) - 1;
    uint8_t ignored[512];
    if (descriptor < 0 || !link_is_whole(link)) {
        return;
    }
    raw_call(SYS_shutdown, descriptor, SHUT_WR, 0, 0, 0, 0);
    for (;;) {
        const long got = raw_call(SYS_recvfrom, descriptor, (long)ignored, sizeof ignored, MSG_DONTWAIT, 0, 0);
        if (got == -EAGAIN ? await(descriptor, POLLIN, deadline_ns) != LINK_OK : got <= 0 && got != -EINTR) {
            return;
        }
    }
}
