// SPDX-License-Identifier: Apache-2.0
// Serves metrics over HTTP, at /metrics.
#include <event2/buffer.h>
#include <event2/http.h>
#include <stdlib.h>

#include "address.h"
#include "burst.h"
#include "cache.h"
#include "service.h"

#define REQUEST_BYTES_MAX 4096
#define TIMEOUT_S 10

unsigned service_gauges(const struct forwarder *forwarder, struct gauge *gauges)
{
    unsigned count = 0;
    gauges[count++] =
        (struct gauge){"queue_length", "Reads and writes that wait for their turn", forwarder->scheduler.waiting};
    gauges[count++] = (struct gauge){"in_service", "Reads and writes at diod", forwarder->scheduler.running};
    if (forwarder->scheduler.window_us != WINDOW_NONE) {
        gauges[count++] =
            (struct gauge){"window_us", "Microseconds of each data server's turn", forwarder->scheduler.window_us};
    }
    if (forwarder->settings.council) {
        const uint64_t heard_ns = forwarder->metrics.council_heard_ns;
        gauges[count++] = (struct gauge){"council_decides", "1 if the council has decided in the last 10 seconds",
                                         heard_ns && scheduler_now() - heard_ns <= SILENCE_NS};
    }
    if (forwarder->settings.bursts) {
        gauges[count++] = (struct gauge){"burst_buffers", "Burst buffers of jobs", burst_count(&forwarder->settings)};
    }
    return count + cache_gauges(forwarder, gauges + count);
}

static void answer(struct evhttp_request *request, void *own)
{
    struct forwarder *forwarder = own;
    struct gauge gauges[GAUGES_MAX];
    char *text = NULL;
    size_t bytes = 0;
    FILE *stream = open_memstream(&text, &bytes);
    struct evbuffer *body = evbuffer_new();
    if (stream && body) {
        const unsigned count = service_gauges(forwarder, gauges);
        patterns_advance(&forwarder->metrics.patterns, scheduler_now());
        metrics_print(&forwarder->metrics, gauges, count, stream);
        fclose(stream);
        evbuffer_add(body, text, bytes);
        evhttp_add_header(evhttp_request_get_output_headers(request), "Content-Type", "text/plain; version=0.0.4");
        evhttp_send_reply(request, HTTP_OK, "OK", body);
    } else {
        if (stream) {
            fclose(stream);
        }
        evhttp_send_error(request, HTTP_INTERNAL, NULL);
    }
    free(text);
    if (body) {
        evbuffer_free(body);
    }
}

int metrics_serve(struct forwarder *forwarder, const char *address, const char **why)
{
    const int fd = address_listen(address, why);
    struct evhttp *http = fd < 0 ? NULL : evhttp_new(forwarder->base);
    if (!http || evhttp_accept_socket(http, fd)) {
        *why = fd < 0 ? *why : "there is no memory";
        return -1;
    }
    evhttp_set_allowed_methods(http, EVHTTP_REQ_GET | EVHTTP_REQ_HEAD);
    evhttp_set_max_headers_size(http, REQUEST_BYTES_MAX);
    evhttp_set_max_body_size(http, REQUEST_BYTES_MAX);
    evhttp_set_timeout(http, TIMEOUT_S);
    evhttp_set_cb(http, "/metrics", answer, forwarder);
    return 0;
}
