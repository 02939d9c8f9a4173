// SPDX-License-Identifier: Apache-2.0
// Hands connections over to burst buffers. A connection's first message is looked at, but stays in its socket for
// whoever serves it.
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "burst.h"
#include "denial.h"
#include "instance_places.h"
#include "instance_start.h"
#include "log.h"
#include "proof.h"
#include "session.h"
#include "wire.h"

struct arrival {
    struct forwarder *forwarder;
    int fd;
    struct event *event;
    struct burst *burst; // its request, read once, because a client could change what is read again; NULL: not read
    struct proof *proof; // that is examined; NULL: none
    bool is_proven;
    struct child *child; // the instance that was started for it; NULL: none
    uint64_t deadline_ns;
};

static void serve_here(struct arrival *arrival)
{
    session_accept(arrival->forwarder, arrival->fd, NULL);
    arrival->fd = -1;
}

// Serve a connection that gets no burst buffer, and has nothing to drain. Without memory, it ends with its arrival.
static void serve_without(struct arrival *arrival)
{
    struct denial *denial = arrival->burst->drains ? NULL : denial_new(arrival->burst->name);
    if (denial || arrival->burst->drains) {
        arrival->forwarder->metrics.bursts_denied += denial != NULL;
        session_accept(arrival->forwarder, arrival->fd, denial);
        arrival->fd = -1;
    }
}

static void end(struct arrival *arrival)
{
    if (arrival->fd >= 0) {
        close(arrival->fd);
    }
    if (arrival->proof) {
        proof_forget(arrival->proof);
    }
    event_free(arrival->event);
    free(arrival->burst);
    free(arrival);
}

// Send a connection to an instance. Return 0; -1 with errno.
static int send_to(const struct settings *settings, const char *name, int fd)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    if (place_path(address.sun_path, sizeof address.sun_path, settings->bursts, name, "socket")) {
        errno = ENAMETOOLONG;
        return -1;
    }
    const int socket_fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (socket_fd < 0) {
        return -1;
    }
    char byte = 0;
    struct iovec vector = {&byte, 1};
    union {
        struct cmsghdr header;
        char room[CMSG_SPACE(sizeof fd)];
    } control = {.room = {0}};
    struct msghdr message = {
        .msg_iov = &vector, .msg_iovlen = 1, .msg_control = control.room, .msg_controllen = sizeof control.room};
    struct cmsghdr *header = CMSG_FIRSTHDR(&message);
    header->cmsg_level = SOL_SOCKET;
    header->cmsg_type = SCM_RIGHTS;
    header->cmsg_len = CMSG_LEN(sizeof fd);
    memcpy(CMSG_DATA(header), &fd, sizeof fd);
    const int failed = connect(socket_fd, (struct sockaddr *)&address, sizeof address) ||
                       sendmsg(socket_fd, &message, MSG_NOSIGNAL) < 0;
    const int kept = errno;
    close(socket_fd);
    errno = kept;
    return failed ? -1 : 0;
}

static bool is_allowed(const struct settings *settings, const struct burst *burst)
{
    for (unsigned i = 0; i < burst->option_count; i++) {
        if (!burst_allows(settings, burst->options[i])) {
            log_line("burst buffer %s is refused: the site does not allow %s", burst->name, burst->options[i]);
            return false;
        }
    }
    return true;
}

static void look_again(struct arrival *arrival)
{
    const struct timeval wait = {.tv_usec = arrival->proof ? PROOF_WAIT_US : ARRIVAL_WAIT_US};
    if (event_add(arrival->event, &wait)) {
        end(arrival);
    }
}

// Hand a connection over. If the job can have no instance, it has no burst buffer, unless an earlier one left data on
// flash: then it must not continue without these. If an instance is killed, or is slow to start, the client tries
// again.
static void hand_over(struct arrival *arrival, const struct burst *burst)
{
    const struct settings *settings = &arrival->forwarder->settings;
    if (!send_to(settings, burst->name, arrival->fd)) {
        end(arrival);
        return;
    }
    const bool absent = errno == ENOENT || errno == ECONNREFUSED;
    const bool may_wait = absent || errno == EAGAIN;
    const bool has_left = place_has_data(settings, burst->name), is_known = place_exists(settings, burst->name);
    const bool has_room = is_known || (!denial_of(burst->name) && places_left_for(settings, burst->user));
    const bool is_needed = is_known || has_left || !burst->drains; // without an instance, there is nothing to drain
    bool can_start = is_allowed(settings, burst) && has_room && is_needed;
    if (absent && can_start && !arrival->child) {
        arrival->child = instance_start(arrival->forwarder, burst);
        can_start = arrival->child != NULL;
    }
    can_start = can_start && !(arrival->child && arrival->child->refused);
    const bool was_killed = arrival->child && arrival->child->ended && !arrival->child->refused;
    if (can_start && !was_killed && may_wait && scheduler_now() < arrival->deadline_ns) {
        look_again(arrival);
        return;
    }
    if (!can_start && !has_left) {
        serve_without(arrival);
    }
    end(arrival);
}

// Return whether the job has a burst buffer, or data in one. The lock is not tried, because an instance that starts at
// this moment would take that for another instance, and strangers can be refused often.
static bool has_burst(const struct arrival *arrival)
{
    const struct settings *settings = &arrival->forwarder->settings;
    return place_exists(settings, arrival->burst->name) || place_has_data(settings, arrival->burst->name);
}

// Continue without burst buffer, or end the connection if the job has one: a process without it would see old data, and
// a drain would be answered although data are delayed.
static void refuse(struct arrival *arrival)
{
    arrival->forwarder->metrics.bursts_refused++;
    if (!has_burst(arrival)) {
        serve_here(arrival);
    }
    end(arrival);
}

// Continue without burst buffer while munged hangs, so that no job waits for it. A job that has a burst buffer must
// wait: a process without it would see old data. Return whether the connection was served.
static bool do_without(struct arrival *arrival)
{
    if (!proof_hangs() || has_burst(arrival)) {
        return false;
    }
    proof_log(arrival->burst, "munged does not answer, so the job works without: restart munged");
    serve_without(arrival);
    end(arrival);
    return true;
}

static void on_examined(void *own, enum verdict verdict)
{
    struct arrival *arrival = own;
    arrival->proof = NULL;
    if (verdict == PROOF_GOOD) {
        arrival->is_proven = true;
        hand_over(arrival, arrival->burst);
    } else if (verdict == PROOF_BAD) {
        refuse(arrival);
    } else if (!do_without(arrival)) { // the client tries again, since munged may answer soon
        arrival->forwarder->metrics.bursts_refused++;
        end(arrival);
    }
}

// Hand a connection over once its user is proven.
static void prove(struct arrival *arrival)
{
    const bool needs_proof = arrival->forwarder->settings.burst_auth == 0;
    if (!needs_proof || arrival->is_proven) {
        hand_over(arrival, arrival->burst);
        return;
    }
    if (!arrival->burst->proof[0]) {
        proof_log(arrival->burst, "it has no proof: jobs need munge, or the forwarder burst-auth=none");
        refuse(arrival);
        return;
    }
    if (do_without(arrival)) {
        return;
    }
    if (scheduler_now() >= arrival->deadline_ns) {
        proof_log(arrival->burst, "munged does not answer in time");
        arrival->forwarder->metrics.bursts_refused++;
        end(arrival);
        return;
    }
    if (!arrival->proof) {
        arrival->proof = proof_examine(arrival->forwarder, arrival->burst, on_examined, arrival);
    }
    if (!arrival->proof) { // the request stays in the socket until a thread can examine it
        free(arrival->burst);
        arrival->burst = NULL;
    }
    look_again(arrival);
}

// Read a request. Return NULL if a message is none.
static struct burst *read_request(const uint8_t *message, uint32_t length)
{
    struct burst *burst = malloc(sizeof *burst);
    if (burst && !burst_read(burst, message, length)) {
        free(burst);
        burst = NULL;
    }
    return burst;
}

static void on_event(evutil_socket_t fd, short what, void *own)
{
    struct arrival *arrival = own;
    uint8_t bytes[BURST_MESSAGE_BYTES];
    const ssize_t got = recv(arrival->fd, bytes, sizeof bytes, MSG_PEEK | MSG_DONTWAIT);
    (void)fd;
    (void)what;
    if (got == 0 || (got < 0 && errno != EAGAIN && errno != EINTR)) {
        end(arrival);
        return;
    }
    if (arrival->burst) {
        prove(arrival);
        return;
    }
    const uint32_t length = got < 4 ? 4 : wire_get32(bytes);
    if (length > sizeof bytes || (got >= 5 && bytes[4] != TVERSION)) {
        serve_here(arrival);
        end(arrival);
    } else if (got < (ssize_t)length || got < 4) {
        if (scheduler_now() < arrival->deadline_ns) {
            look_again(arrival);
        } else {
            end(arrival);
        }
    } else if ((arrival->burst = read_request(bytes, length))) {
        prove(arrival);
    } else {
        serve_here(arrival);
        end(arrival);
    }
}

void burst_arrive(struct forwarder *forwarder, int fd)
{
    struct arrival *arrival = forwarder->settings.bursts ? calloc(1, sizeof *arrival) : NULL;
    if (arrival) {
        *arrival = (struct arrival){.forwarder = forwarder, .fd = fd};
        arrival->deadline_ns = scheduler_now() + ARRIVAL_NS;
        arrival->event = event_new(forwarder->base, -1, 0, on_event, arrival);
    }
    if (!arrival || !arrival->event) {
        free(arrival);
        session_accept(forwarder, fd, NULL);
        return;
    }
    on_event(fd, 0, arrival);
}
