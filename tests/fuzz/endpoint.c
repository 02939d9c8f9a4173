// SPDX-License-Identifier: Apache-2.0
// Fuzz the parser of an endpoint in plugstack.conf.
#include <stdlib.h>
#include <string.h>

#include "../../spank/endpoint.h"
#include "harness.h"

// Writes an endpoint that consists of these parts to `text`.
static void put_together(const struct endpoint *endpoint, char *text)
{
    const char *pieces[] = {"tcp:", endpoint->text[4] == '[' ? "[" : "", endpoint->host,
                            endpoint->text[4] == '[' ? "]:" : ":", endpoint->port};
    text[0] = '\0';
    for (size_t i = 0; i < sizeof pieces / sizeof *pieces; i++) {
        memcpy(text + strlen(text), pieces[i], strlen(pieces[i]) + 1);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct endpoint endpoint;
    struct endpoint before;
    char again[2 * sizeof endpoint.text];
    memset(&before, 'x', sizeof before);
    endpoint = before;
    char *text = copy_text(data, size);
    if (endpoint_parse(&endpoint, text)) {
        MUST(memcmp(&endpoint, &before, sizeof before) == 0);
    } else if (endpoint.kind == ENDPOINT_UNIX) {
        MUST(strcmp(endpoint.text, text) == 0);
        MUST(endpoint.path[0] == '/' && strcmp(endpoint.path, text + strlen("unix:")) == 0);
    } else {
        MUST(endpoint.kind == ENDPOINT_TCP && strcmp(endpoint.text, text) == 0);
        put_together(&endpoint, again);
        MUST(strcmp(again, text) == 0);
        MUST(strtol(endpoint.port, NULL, 10) >= 1 && strtol(endpoint.port, NULL, 10) <= 65535);
    }
    free(text);
    return 0;
}
