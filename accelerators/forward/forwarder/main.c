// SPDX-License-Identifier: Apache-2.0
// reprise-forwarder: stands in front of diod on an I/O node.
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include "address.h"
#include "announcer.h"
#include "burst.h"
#include "cache.h"
#include "log.h"
#include "notify.h"
#include "service.h"
#include "session.h"

#define ACCEPTS_PER_TURN 64
#define ACCEPT_WAIT_US 100000
#define ANSWER_WAIT_US 5000
#define ANSWER_WAITS_MAX 1000

struct program {
    struct forwarder forwarder;
    struct event *accepting;
    struct event *resuming; // accepts again after a lack of descriptors
    bool stopping;
    int answer_waits; // times that the end has been put off, because diod has not answered
};

static void on_accept(evutil_socket_t listening, short what, void *own)
{
    struct program *program = own;
    const struct settings *settings = &program->forwarder.settings;
    (void)what;
    for (int i = 0; i < ACCEPTS_PER_TURN; i++) {
        const int fd = settings->hand_over ? burst_receive(listening)
                                           : accept4(listening, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
        if (fd < 0 && (errno == EMFILE || errno == ENFILE || errno == ENOMEM || errno == ENOBUFS)) {
            log_line("no client can be accepted: %s", strerror(errno));
            const struct timeval wait = {.tv_usec = ACCEPT_WAIT_US}; // the socket stays readable: do not spin
            event_del(program->accepting);
            event_add(program->resuming, &wait);
        }
        if (fd < 0) {
            return;
        }
        burst_arrive(&program->forwarder, fd);
    }
}

static void on_resuming(evutil_socket_t fd, short what, void *own)
{
    struct program *program = own;
    (void)fd;
    (void)what;
    if (!program->stopping) {
        event_add(program->accepting, NULL);
    }
}

// End the program when diod has answered all requests, because diod dies if it answers on a closed connection.
static void end_soon(evutil_socket_t fd, short what, void *own)
{
    struct program *program = own;
    const struct timeval wait = {.tv_usec = ANSWER_WAIT_US};
    const bool answered = !program->forwarder.sessions && cache_is_idle(&program->forwarder);
    (void)fd;
    (void)what;
    if (answered || program->answer_waits++ >= ANSWER_WAITS_MAX ||
        event_base_once(program->forwarder.base, -1, EV_TIMEOUT, end_soon, program, &wait)) {
        event_base_loopbreak(program->forwarder.base);
    }
}

static void on_drained(void *own)
{
    end_soon(-1, 0, own);
}

// The first signal ends the connections and drains the cache; a second one ends the program at once.
static void on_signal(evutil_socket_t number, short what, void *own)
{
    struct program *program = own;
    (void)number;
    (void)what;
    if (program->stopping) {
        event_base_loopbreak(program->forwarder.base);
        return;
    }
    program->stopping = true;
    event_free(program->accepting);
    for (struct session *session = program->forwarder.sessions, *next; session; session = next) {
        next = session->next;
        session_end(session);
    }
    cache_drain(&program->forwarder, on_drained, program);
}

// Make sure that no socket becomes descriptor 0, 1 or 2, on which messages are printed.
static int open_standard_descriptors(void)
{
    int fd;
    do {
        fd = open("/dev/null", O_RDWR | O_CLOEXEC);
    } while (fd >= 0 && fd <= STDERR_FILENO);
    return fd < 0 ? -1 : close(fd);
}

// Each client needs two descriptors.
static void allow_descriptors(void)
{
    struct rlimit limit;
    if (!getrlimit(RLIMIT_NOFILE, &limit)) {
        limit.rlim_cur = limit.rlim_max;
        setrlimit(RLIMIT_NOFILE, &limit);
    }
}

static int start_scheduler(struct forwarder *forwarder, char *error, size_t room)
{
    const struct settings *settings = &forwarder->settings;
    struct layout *layout = &forwarder->layout;
    const struct scheduler_options options = {
        .layout = layout, .number = (unsigned)settings->number, .window_us = (uint32_t)settings->window};
    layout->servers = (unsigned)settings->servers;
    layout_read(layout, settings->layout); // it was valid when it was read
    if (layout->map_path && !(layout->map = layout_map_read(layout->map_path, layout->servers, error, room))) {
        return -1;
    }
    if (scheduler_start(&forwarder->scheduler, forwarder->base, scheduler_policy(settings->scheduler), &options,
                        (unsigned)settings->workers)) {
        snprintf(error, room, "cannot start: there is no memory");
        return -1;
    }
    patterns_start(&forwarder->metrics.patterns, scheduler_wall, scheduler_now(), forwarder->scheduler.window_us);
    return 0;
}

static int start(struct program *program)
{
    struct forwarder *forwarder = &program->forwarder;
    const struct settings *settings = &forwarder->settings;
    const char *why = "there is no memory";
    char error[500];
    forwarder->base = event_base_new();
    if (!forwarder->base) {
        log_line("cannot start: %s", why);
        return -1;
    }
    if (settings->hand_over && burst_lock(settings->hand_over, &why)) {
        log_line("hand-over=\"%s\" cannot be locked: %s", settings->hand_over, why);
        return -1;
    }
    if (start_scheduler(forwarder, error, sizeof error) || cache_start(forwarder, error, sizeof error)) {
        log_line("%s", error);
        return -1;
    }
    if (settings->metrics && metrics_serve(forwarder, settings->metrics, &why)) {
        log_line("metrics=\"%s\" cannot be served: %s", settings->metrics, why);
        return -1;
    }
    if (settings->control && control_serve(forwarder, settings->control, &why)) {
        log_line("control=\"%s\" cannot be served: %s", settings->control, why);
        return -1;
    }
    if (settings->council && announcer_start(forwarder, &why)) {
        log_line("cannot report to the council: %s", why);
        return -1;
    }
    const char *place = settings->hand_over ? settings->hand_over : settings->listen;
    const int fd = settings->hand_over ? burst_listen(forwarder, &why) : address_listen(place, &why);
    if (fd < 0) {
        log_line("%s=\"%s\" cannot be listened on: %s", settings->hand_over ? "hand-over" : "listen", place, why);
        return -1;
    }
    program->accepting = event_new(forwarder->base, fd, EV_READ | EV_PERSIST, on_accept, program);
    program->resuming = evtimer_new(forwarder->base, on_resuming, program);
    struct event *terminated = evsignal_new(forwarder->base, SIGTERM, on_signal, program);
    struct event *interrupted = evsignal_new(forwarder->base, SIGINT, on_signal, program);
    struct event *ended = evsignal_new(forwarder->base, SIGCHLD, burst_ended, NULL);
    if (!program->accepting || !program->resuming || !terminated || !interrupted || !ended || event_add(ended, NULL) ||
        event_add(program->accepting, NULL) || event_add(terminated, NULL) || event_add(interrupted, NULL)) {
        log_line("cannot start: there is no memory");
        return -1;
    }
    log_line("ready on %s", place);
    notify_ready(forwarder->base);
    burst_resume(forwarder);
    return 0;
}

int main(int argc, char **argv)
{
    static struct program program;
    char error[500];
    if (open_standard_descriptors()) {
        return EXIT_FAILURE;
    }
    signal(SIGPIPE, SIG_IGN);
    signal(SIGXFSZ, SIG_IGN); // a limit of the flash cache's file system is an error as any other
    allow_descriptors();
    const int read = settings_read(&program.forwarder.settings, argc, argv, error, sizeof error);
    if (read) {
        if (read < 0) {
            log_line("%s", error);
        }
        return read < 0 ? EXIT_FAILURE : EXIT_SUCCESS;
    }
    if (start(&program)) {
        return EXIT_FAILURE;
    }
    event_base_dispatch(program.forwarder.base);
    cache_stop(&program.forwarder);
    burst_remove();
    return EXIT_SUCCESS;
}
