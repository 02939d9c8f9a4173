// SPDX-License-Identifier: Apache-2.0
// Only one thread of its own may wait: for names, and for munged. The event loop writes a report, and reads a decision.
#include "announcer.h"

#include <errno.h>
#include <event2/buffer.h>
#include <event2/bufferevent.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "address.h"
#include "announcement.h"
#include "credential.h"
#include "log.h"
#include "service.h"

#define NS_PER_S 1000000000ULL
#define NS_PER_US 1000U

struct announcer {
    struct forwarder *forwarder;
    struct pool *pool;
    struct event *timer;
    struct bufferevent *stream; // NULL: there is no connection
    unsigned connection;        // number of the connection, by which late results of threads are recognized
    unsigned made_for;          // connection for which a credential is made; valid if `makes`
    unsigned opened_for;        // the same, for `opens`
    bool connects;              // a thread works on it
    bool makes;
    bool opens;
    char nonce[NONCE_BYTES];
    struct decision last;
    unsigned lines;       // of the council, since the last report was due
    uint64_t heard_ns;    // time of the last decision, or of the connection
    uint64_t retry_ns;    // time of the next attempt to connect
    uint64_t wait_s;      // time between attempts
    bool logged_lost;     // the log has the cause for which there is no connection
    bool logged_decision; // the log says that the council of this connection decides
    bool logged_refused;  // the log has a decision of this connection that was not believed
};

static void wait_to_connect(struct announcer *announcer)
{
    announcer->retry_ns = scheduler_now() + announcer->wait_s * NS_PER_S;
    announcer->wait_s = announcer->wait_s * 2 < RECONNECT_S_MAX ? announcer->wait_s * 2 : RECONNECT_S_MAX;
}

// Give up the connection. If the last decision was an experiment, it ends.
static void lose(struct announcer *announcer, const char *why)
{
    if (!announcer->logged_lost) {
        log_line("the council at %s does not decide: %s; the window stays, and the forwarder keeps trying",
                 announcer->forwarder->settings.council, why);
    }
    announcer->logged_lost = true;
    if (announcer->stream) {
        bufferevent_free(announcer->stream);
        announcer->stream = NULL;
        announcer->connection++;
    }
    if (announcer->last.number) {
        service_set_window(announcer->forwarder, announcer->last.keep_us);
        announcer->last.number = 0;
    }
    wait_to_connect(announcer);
}

// -- decisions --

static void refuse(struct announcer *announcer, const char *why)
{
    announcer->forwarder->metrics.council_refused++;
    if (!announcer->logged_refused) {
        log_line("a decision of the council at %s is ignored: %s", announcer->forwarder->settings.council, why);
    }
    announcer->logged_refused = true;
}

static void take(struct announcer *announcer, const char *line)
{
    struct forwarder *forwarder = announcer->forwarder;
    struct decision decision;
    if (announcement_decision(line, announcer->nonce, &decision)) {
        refuse(announcer, "it is malformed, or not for this connection");
        return;
    }
    if (decision.number <= announcer->last.number) {
        refuse(announcer, "a newer one has arrived before");
        return;
    }
    announcer->last = decision;
    announcer->heard_ns = scheduler_now();
    announcer->wait_s = RECONNECT_S_MIN;
    announcer->logged_lost = false;
    if (!announcer->logged_decision) {
        log_line("the council at %s decides on the window", forwarder->settings.council);
    }
    announcer->logged_decision = true;
    forwarder->metrics.council_decisions++;
    forwarder->metrics.council_heard_ns = announcer->heard_ns;
    service_set_window(forwarder, decision.window_us);
}

static void read_lines(struct announcer *announcer);

static void on_opened(void *own, const struct opened *opened)
{
    struct announcer *announcer = own;
    const bool is_late = announcer->opened_for != announcer->connection;
    announcer->opens = false;
    if (is_late) {
        free(opened->text);
        return;
    }
    if (!opened->text) {
        refuse(announcer, opened->why);
    } else if (opened->user != 0 && opened->user != (uint32_t)announcer->forwarder->settings.council_uid) {
        refuse(announcer, "its credential is not of the user in council-uid");
    } else {
        take(announcer, opened->text);
    }
    free(opened->text);
    read_lines(announcer);
}

// A line that a thread examines holds up those behind it.
static void read_lines(struct announcer *announcer)
{
    while (announcer->stream && !announcer->opens) {
        struct evbuffer *from = bufferevent_get_input(announcer->stream);
        char *line = evbuffer_readln(from, NULL, EVBUFFER_EOL_LF);
        if (!line) {
            if (evbuffer_get_length(from) > DECISION_LINE_MAX) {
                lose(announcer, "its line is too long");
            }
            return;
        }
        if (++announcer->lines > DECISION_LINES_MAX) {
            lose(announcer, "it sends too many lines");
        } else if (!announcer->forwarder->settings.council_auth) {
            announcer->opened_for = announcer->connection;
            announcer->opens = !credential_open(announcer->pool, line, on_opened, announcer);
        } else {
            take(announcer, line);
        }
        free(line);
    }
}

static void on_read(struct bufferevent *stream, void *own)
{
    (void)stream;
    read_lines(own);
}

static void on_event(struct bufferevent *stream, short what, void *own)
{
    const int cause = EVUTIL_SOCKET_ERROR();
    (void)stream;
    lose(own, what & BEV_EVENT_ERROR && cause ? strerror(cause) : "it has closed the connection");
}

// -- connection --

struct connecting {
    struct work work;
    struct announcer *announcer;
    const char *address;
    int fd;
    int cause; // errno, if there is no `fd`
};

static void run_connect(struct work *work)
{
    struct connecting *connecting = (struct connecting *)work;
    connecting->fd = address_connect(connecting->address);
    connecting->cause = errno;
}

static void connected(struct work *work)
{
    struct connecting *connecting = (struct connecting *)work;
    struct announcer *announcer = connecting->announcer;
    const int fd = connecting->fd;
    const int cause = connecting->cause;
    free(connecting);
    announcer->connects = false;
    if (fd < 0) {
        lose(announcer, strerror(cause));
        return;
    }
    announcer->stream = bufferevent_socket_new(announcer->forwarder->base, fd, BEV_OPT_CLOSE_ON_FREE);
    if (!announcer->stream || announcement_nonce(announcer->nonce)) {
        if (!announcer->stream) {
            close(fd);
        }
        lose(announcer, "there is no memory, or there are no random numbers");
        return;
    }
    announcer->heard_ns = scheduler_now();
    announcer->logged_decision = false;
    announcer->logged_refused = false;
    bufferevent_setcb(announcer->stream, on_read, NULL, on_event, announcer);
    bufferevent_setwatermark(announcer->stream, EV_READ, 0, 2 * DECISION_LINE_MAX);
    bufferevent_enable(announcer->stream, EV_READ | EV_WRITE);
}

static void start_to_connect(struct announcer *announcer)
{
    struct connecting *connecting = calloc(1, sizeof *connecting);
    if (!connecting) {
        wait_to_connect(announcer);
        return;
    }
    *connecting = (struct connecting){.work = {.run = run_connect, .done = connected},
                                      .announcer = announcer,
                                      .address = announcer->forwarder->settings.council};
    announcer->connects = true;
    pool_add(announcer->pool, &connecting->work);
}

// -- reports --

static void send_line(struct announcer *announcer, const char *text)
{
    struct evbuffer *to = bufferevent_get_output(announcer->stream);
    evbuffer_add(to, text, strlen(text));
    evbuffer_add(to, "\n", 1);
}

static void on_made(void *own, char *text, const char *why)
{
    struct announcer *announcer = own;
    const bool is_late = announcer->made_for != announcer->connection;
    announcer->makes = false;
    if (!is_late && text) {
        send_line(announcer, text);
    } else if (!is_late) {
        lose(announcer, why);
    }
    free(text);
}

static void report(struct announcer *announcer, uint64_t now_ns)
{
    struct forwarder *forwarder = announcer->forwarder;
    patterns_advance(&forwarder->metrics.patterns, now_ns);
    char *text = announcement_report(forwarder, announcer->nonce, now_ns);
    load_begin(&forwarder->scheduler.load, now_ns);
    if (text && forwarder->settings.council_auth) {
        send_line(announcer, text);
    } else if (text) {
        announcer->made_for = announcer->connection;
        announcer->makes = !credential_make(announcer->pool, text, on_made, announcer);
    }
    free(text);
}

// Reports are made when a second of the wall clock has passed, at all forwarders at once, so that the council need not
// wait for any of them.
static void wait_for_second(struct announcer *announcer)
{
    const uint64_t left_ns = NS_PER_S - scheduler_wall() % NS_PER_S + REPORT_LAG_NS;
    const struct timeval wait = {.tv_sec = (time_t)(left_ns / NS_PER_S),
                                 .tv_usec = (suseconds_t)(left_ns % NS_PER_S / NS_PER_US)};
    event_add(announcer->timer, &wait);
}

static void on_second(evutil_socket_t fd, short what, void *own)
{
    struct announcer *announcer = own;
    const uint64_t now_ns = scheduler_now();
    (void)fd;
    (void)what;
    announcer->lines = 0;
    if (!announcer->stream) {
        if (!announcer->connects && now_ns >= announcer->retry_ns) {
            start_to_connect(announcer);
        }
    } else if (now_ns - announcer->heard_ns > SILENCE_NS) {
        lose(announcer, "no decision that is believed arrives");
    } else if (!announcer->makes && !evbuffer_get_length(bufferevent_get_output(announcer->stream)) &&
               now_ns - announcer->forwarder->scheduler.load.begin_ns >= REPORT_NS_MIN) {
        report(announcer, now_ns);
    }
    wait_for_second(announcer);
}

int announcer_start(struct forwarder *forwarder, const char **why)
{
    struct announcer *announcer = calloc(1, sizeof *announcer);
    if (announcer) {
        *announcer = (struct announcer){.forwarder = forwarder, .wait_s = RECONNECT_S_MIN};
        announcer->pool = pool_start(forwarder->base, 1);
        announcer->timer = evtimer_new(forwarder->base, on_second, announcer);
    }
    if (!announcer || !announcer->pool || !announcer->timer) {
        *why = "there is no memory";
        return -1;
    }
    wait_for_second(announcer);
    start_to_connect(announcer);
    return 0;
}
