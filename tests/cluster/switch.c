// SPDX-License-Identifier: Apache-2.0
// An Ethernet switch that delays frames, used because not every kernel has netem. Each port is a TAP device (port0,
// port1, ...), which the caller moves to a node's namespace. The switch writes a frame to the destination's port when a
// fixed delay has passed since the sender's link carried the frame. Links carry a limited number of bits per second in
// each direction. Frames to the same destination keep their order. The switch does not drop frames for lack of memory:
// if all memory is in use, they stay in the sender's device. Usage: switch PORTS DELAY_US BITS_PER_SECOND (0: no
// limit). The switch runs until it is killed.
//
// A port's address is 02:00:00:00:00:PORT. Frames for other addresses, such as broadcasts, go to all other ports.
#include <errno.h>
#include <fcntl.h>
#include <linux/if.h>
#include <linux/if_tun.h>
#include <sched.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/ioctl.h>
#include <sys/timerfd.h>
#include <time.h>
#include <unistd.h>

// Maximum number of ports: 64 nodes and the login node. A port's number must fit into one byte of its address.
#define PORTS_MAX 65
// Maximum length of a frame: MTU 9000, an Ethernet header and a VLAN tag.
#define FRAME_MAX (9000 + 18)
// Maximum number of frames in memory (600 MB). TCP's windows, 6 MB for each pair of nodes, keep 16 nodes below this
// limit.
#define FRAMES_MAX 65536
// Maximum number of frames that are read from one port before frames that are due are written. Reading this many takes
// 50 us.
#define BATCH 16
// Bytes of the preamble and the gap between two frames, which also take time on the link.
#define BETWEEN_BYTES 20
// Bytes of an Ethernet header: destination, source and type.
#define HEADER 14
#define SECOND_NS 1000000000LL

struct frame {
    struct frame *next;
    int64_t due; // time in ns at which the frame is due to be written
    size_t length;
    uint8_t data[FRAME_MAX];
};

struct port {
    int fd;
    int64_t sent;     // time at which the port's link to the switch has carried all frames read so far
    int64_t received; // time at which the port's link from the switch has carried all frames queued so far
    struct frame *first;
    struct frame **last;
};

static struct port ports[PORTS_MAX];
static int port_count;
static int64_t delay_ns;
static int64_t bits_per_second;
static struct frame *spare;
static int frames_made;

static int64_t now_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return now.tv_sec * SECOND_NS + now.tv_nsec;
}

static int64_t carried_ns(size_t length)
{
    return bits_per_second ? (int64_t)(length + BETWEEN_BYTES) * 8 * SECOND_NS / bits_per_second : 0;
}

static int64_t later(int64_t one, int64_t other)
{
    return one > other ? one : other;
}

// Returns an unused frame, or NULL if all memory is in use.
static struct frame *take_frame(void)
{
    struct frame *frame = spare;
    if (frame) {
        spare = frame->next;
    } else if (frames_made < FRAMES_MAX && (frame = malloc(sizeof *frame))) {
        frames_made++;
    }
    return frame;
}

static void give_back(struct frame *frame)
{
    frame->next = spare;
    spare = frame;
}

// Returns whether enough memory is left for a broadcast, which needs a frame for each port.
static bool room(void)
{
    return spare || frames_made <= FRAMES_MAX - port_count;
}

static void queue_frame(struct frame *frame, struct port *to, int64_t sent)
{
    to->received = later(sent + delay_ns, to->received + carried_ns(frame->length));
    frame->due = to->received;
    frame->next = NULL;
    *to->last = frame;
    to->last = &frame->next;
}

static bool is_port(const uint8_t *address)
{
    static const uint8_t prefix[] = {2, 0, 0, 0, 0};
    return memcmp(address, prefix, sizeof prefix) == 0 && address[sizeof prefix] < port_count;
}

static void forward(struct frame *frame, struct port *from)
{
    from->sent = later(now_ns(), from->sent) + carried_ns(frame->length);
    if (is_port(frame->data)) {
        queue_frame(frame, &ports[frame->data[5]], from->sent);
        return;
    }
    for (struct port *to = ports; to < ports + port_count; to++) {
        struct frame *copy = to == from ? NULL : take_frame();
        if (copy) {
            copy->length = frame->length;
            memcpy(copy->data, frame->data, frame->length);
            queue_frame(copy, to, from->sent);
        }
    }
    give_back(frame);
}

static void read_port(struct port *from)
{
    for (int i = 0; i < BATCH && room(); i++) {
        struct frame *frame = take_frame();
        if (!frame) {
            return;
        }
        ssize_t length = read(from->fd, frame->data, sizeof frame->data);
        if (length < HEADER) {
            give_back(frame);
            return; // there are no more frames, or the port's node has ended
        }
        frame->length = (size_t)length;
        forward(frame, from);
    }
}

// Writes the frames that are due. Returns the time at which the next frame is due, or 0 if there is none.
static int64_t deliver(void)
{
    int64_t next = 0;
    int64_t now = now_ns();
    for (struct port *to = ports; to < ports + port_count; to++) {
        while (to->first && to->first->due <= now) {
            struct frame *frame = to->first;
            to->first = frame->next;
            if (!to->first) {
                to->last = &to->first;
            }
            // Frames for a device that is down are lost, as on an unplugged link.
            ssize_t written = write(to->fd, frame->data, frame->length);
            (void)written;
            give_back(frame);
        }
        if (to->first && (!next || to->first->due < next)) {
            next = to->first->due;
        }
    }
    return next;
}

static int open_port(int number)
{
    struct ifreq request = {.ifr_flags = IFF_TAP | IFF_NO_PI};
    snprintf(request.ifr_name, sizeof request.ifr_name, "port%d", number);
    int fd = open("/dev/net/tun", O_RDWR | O_NONBLOCK | O_CLOEXEC);
    if (fd < 0 || ioctl(fd, TUNSETIFF, &request) < 0) {
        fprintf(stderr, "switch: %s: %s: run as root, with the kernel's module `tun`\n", request.ifr_name,
                strerror(errno));
        return -1;
    }
    ports[number] = (struct port){.fd = fd, .last = &ports[number].first};
    return fd;
}

// Gives the switch precedence over every other process, because the ranks share the few processors and always poll.
static void take_precedence(void)
{
    struct sched_param first = {.sched_priority = 1};
    if (sched_setscheduler(0, SCHED_FIFO, &first) < 0) {
        fprintf(stderr, "switch: no real-time priority: %s: delays vary where the processors are busy\n",
                strerror(errno));
    }
}

int main(int argc, char **argv)
{
    if (argc != 4 || (port_count = (int)strtol(argv[1], NULL, 10)) < 1 || port_count > PORTS_MAX) {
        fprintf(stderr, "usage: switch PORTS DELAY_US BITS_PER_SECOND, with 1 to %d ports\n", PORTS_MAX);
        return 2;
    }
    delay_ns = strtoll(argv[2], NULL, 10) * 1000;
    bits_per_second = strtoll(argv[3], NULL, 10);
    take_precedence();
    int timer = timerfd_create(CLOCK_MONOTONIC, TFD_NONBLOCK | TFD_CLOEXEC);
    int events = epoll_create1(EPOLL_CLOEXEC);
    struct epoll_event timed = {.events = EPOLLIN, .data.ptr = NULL};
    if (timer < 0 || events < 0 || epoll_ctl(events, EPOLL_CTL_ADD, timer, &timed) < 0) {
        perror("switch");
        return 1;
    }
    for (int i = 0; i < port_count; i++) {
        struct epoll_event readable = {.events = EPOLLIN, .data.ptr = &ports[i]};
        int fd = open_port(i);
        if (fd < 0 || epoll_ctl(events, EPOLL_CTL_ADD, fd, &readable) < 0) {
            return 1;
        }
    }
    for (int64_t set = 0;;) {
        struct epoll_event ready[PORTS_MAX + 1];
        int count = epoll_wait(events, ready, PORTS_MAX + 1, -1);
        for (int i = 0; i < count; i++) {
            uint64_t expired;
            if (ready[i].data.ptr) {
                read_port(ready[i].data.ptr);
                deliver();
            } else if (read(timer, &expired, sizeof expired) > 0) {
                set = 0;
            }
        }
        int64_t next = deliver();
        if (next && next != set) {
            struct itimerspec due = {.it_value = {next / SECOND_NS, next % SECOND_NS}};
            timerfd_settime(timer, TFD_TIMER_ABSTIME, &due, NULL);
            set = next;
        }
    }
}
