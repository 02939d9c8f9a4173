// SPDX-License-Identifier: Apache-2.0
// Serves commands on a Unix socket. A command is a line, and so is its answer, in JSON.
#include <errno.h>
#include <event2/buffer.h>
#include <event2/bufferevent.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "address.h"
#include "cache.h"
#include "log.h"
#include "service.h"

#define WRITE_BACK "write-back "
#define WINDOW "window "
#define TEXT(number) #number
#define DIGITS(number) TEXT(number)

struct control {
    struct forwarder *forwarder;
    struct event *accepting;
    unsigned connections;
};

struct caller {
    struct control *control;
    struct bufferevent *stream; // NULL once the connection has ended
    bool drains;                // the cache will call `drained`
};

static void answer(struct caller *caller)
{
    struct gauge gauges[GAUGES_MAX];
    const struct forwarder *forwarder = caller->control->forwarder;
    const struct metrics *metrics = &forwarder->metrics;
    struct evbuffer *to = bufferevent_get_output(caller->stream);
    const unsigned count = service_gauges(forwarder, gauges);
    evbuffer_add_printf(to, "{\"connections\": %" PRIu64, metrics->connections);
    for (unsigned i = 0; i < count; i++) {
        evbuffer_add_printf(to, ", \"%s\": %" PRIu64, gauges[i].name, gauges[i].value);
    }
    evbuffer_add_printf(to, ", \"write_errors\": %" PRIu64 ", \"lost_bytes\": %" PRIu64 "}\n", metrics->write_errors,
                        metrics->lost_bytes);
}

static void answer_patterns(struct caller *caller)
{
    struct metrics *metrics = &caller->control->forwarder->metrics;
    struct evbuffer *to = bufferevent_get_output(caller->stream);
    char *text = NULL;
    size_t bytes = 0;
    FILE *stream = open_memstream(&text, &bytes);
    if (!stream) {
        evbuffer_add_printf(to, "{\"error\": \"there is no memory\"}\n");
        return;
    }
    patterns_advance(&metrics->patterns, scheduler_now());
    patterns_print_json(metrics, stream);
    fclose(stream);
    evbuffer_add(to, text, bytes);
    free(text);
}

static void end(struct caller *caller)
{
    if (caller->stream) {
        bufferevent_free(caller->stream);
        caller->stream = NULL;
        caller->control->connections--;
    }
    if (!caller->drains) {
        free(caller);
    }
}

static void drained(void *own)
{
    struct caller *caller = own;
    caller->drains = false;
    if (caller->stream) {
        answer(caller);
    } else {
        free(caller);
    }
}

// Choose how writes of a job are delayed from now on. Return NULL, or what is wrong.
static const char *choose(struct forwarder *forwarder, char *words)
{
    char *mode = strrchr(words, ' ');
    int64_t value;
    if (!mode || mode == words) {
        return "use write-back JOB off|ram|flash";
    }
    *mode++ = '\0';
    if (settings_mode(mode, &value)) {
        return "unknown mode: use off, ram or flash";
    }
    if (value == WRITE_BACK_FLASH && !forwarder->settings.flash) {
        return "there is no flash cache: start the forwarder with --flash=DIRECTORY";
    }
    struct job *job = metrics_job(&forwarder->metrics, words);
    if (!strcmp(job->name, "other")) {
        return "there are too many jobs";
    }
    job->write_back = (int)value;
    return NULL;
}

int service_set_window(struct forwarder *forwarder, uint32_t window_us)
{
    if (scheduler_set_window(&forwarder->scheduler, window_us)) {
        return -1;
    }
    patterns_set_window(&forwarder->metrics, window_us, scheduler_now());
    return 0;
}

// Change the window on command. Return NULL, or what is wrong.
static const char *change_window(struct forwarder *forwarder, const char *word)
{
    uint32_t window_us;
    if (settings_window(word, &window_us)) {
        return "use window MICROSECONDS: 0, or " DIGITS(WINDOW_US_MIN) " to " DIGITS(WINDOW_US_MAX);
    }
    if (service_set_window(forwarder, window_us)) {
        return "the scheduler has no windows: start the forwarder with --scheduler=twins";
    }
    return NULL;
}

// Read the map of the layout again, which may have changed. Return NULL, or what is wrong.
static const char *change_layout(struct forwarder *forwarder)
{
    struct layout *layout = &forwarder->layout;
    char error[500];
    if (!layout->map_path) {
        return "there is no map: start the forwarder with --layout=map:FILE";
    }
    struct layout_map *map = layout_map_read(layout->map_path, layout->servers, error, sizeof error);
    if (!map) {
        log_line("the old map of the layout stays in use: %s", error);
        return "the old map stays in use, because the new one is invalid: see the log";
    }
    layout_map_free(layout->map);
    layout->map = map;
    return NULL;
}

// Execute a command that changes something. Return NULL, or what is wrong.
static const char *change(struct forwarder *forwarder, char *line)
{
    if (!strncmp(line, WRITE_BACK, strlen(WRITE_BACK))) {
        return choose(forwarder, line + strlen(WRITE_BACK));
    }
    if (!strncmp(line, WINDOW, strlen(WINDOW))) {
        return change_window(forwarder, line + strlen(WINDOW));
    }
    if (!strcmp(line, "layout")) {
        return change_layout(forwarder);
    }
    return "unknown command: use status, patterns, drain, write-back, window or layout";
}

static void on_read(struct bufferevent *stream, void *own)
{
    struct caller *caller = own;
    struct evbuffer *from = bufferevent_get_input(stream);
    char *line;
    while (!caller->drains && (line = evbuffer_readln(from, NULL, EVBUFFER_EOL_ANY))) {
        if (!strcmp(line, "status")) {
            answer(caller);
        } else if (!strcmp(line, "patterns")) {
            answer_patterns(caller);
        } else if (!strcmp(line, "drain")) {
            caller->drains = true;
            cache_drain(caller->control->forwarder, drained, caller);
        } else {
            const char *wrong = change(caller->control->forwarder, line);
            if (wrong) {
                evbuffer_add_printf(bufferevent_get_output(stream), "{\"error\": \"%s\"}\n", wrong);
            } else {
                answer(caller);
            }
        }
        free(line);
    }
    if (evbuffer_get_length(from) > CONTROL_LINE_MAX) {
        end(caller);
    }
}

static void on_event(struct bufferevent *stream, short what, void *own)
{
    (void)stream;
    (void)what;
    end(own);
}

static void on_accept(evutil_socket_t listening, short what, void *own)
{
    struct control *control = own;
    (void)what;
    const int fd = accept4(listening, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
    if (fd < 0) {
        return;
    }
    struct caller *caller = control->connections < CONTROLS_MAX ? calloc(1, sizeof *caller) : NULL;
    struct bufferevent *stream =
        caller ? bufferevent_socket_new(control->forwarder->base, fd, BEV_OPT_CLOSE_ON_FREE) : NULL;
    if (!stream) {
        free(caller);
        close(fd);
        return;
    }
    *caller = (struct caller){.control = control, .stream = stream};
    control->connections++;
    bufferevent_setcb(stream, on_read, NULL, on_event, caller);
    bufferevent_enable(stream, EV_READ | EV_WRITE);
}

int control_serve(struct forwarder *forwarder, const char *path, const char **why)
{
    const mode_t mask = umask(0177);
    const int fd = address_listen(path, why);
    umask(mask);
    struct control *control = fd < 0 ? NULL : calloc(1, sizeof *control);
    if (!control) {
        return -1;
    }
    control->forwarder = forwarder;
    control->accepting = event_new(forwarder->base, fd, EV_READ | EV_PERSIST, on_accept, control);
    return control->accepting && !event_add(control->accepting, NULL) ? 0 : -1;
}
