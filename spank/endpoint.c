// SPDX-License-Identifier: Apache-2.0
#include "endpoint.h"

#include <string.h>

#define PORT_MAX 65535

static int copy(char *to, size_t size, const char *from, size_t length)
{
    if (length == 0 || length >= size) {
        return -1;
    }
    memcpy(to, from, length);
    to[length] = '\0';
    return 0;
}

// Read a port. It must consist of digits, because the name of a service would need a lookup.
static int read_port(struct endpoint *endpoint, const char *text)
{
    long port = 0;
    size_t length = strspn(text, "0123456789");
    if (text[length] != '\0' || copy(endpoint->port, sizeof endpoint->port, text, length)) {
        return -1;
    }
    for (size_t i = 0; i < length; i++) {
        port = port * 10 + (text[i] - '0');
    }
    return port >= 1 && port <= PORT_MAX ? 0 : -1;
}

static int read_host_and_port(struct endpoint *endpoint, const char *text)
{
    static const char in_name[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_.";
    static const char in_address[] = "ABCDEFabcdef0123456789:.";
    const char brackets = text[0] == '[';
    const char *host = text + brackets;
    size_t length = strspn(host, brackets ? in_address : in_name);
    const char *after = host + length;
    if (brackets && *after++ != ']') {
        return -1;
    }
    if (*after != ':' || copy(endpoint->host, sizeof endpoint->host, host, length)) {
        return -1;
    }
    return read_port(endpoint, after + 1);
}

int endpoint_parse(struct endpoint *endpoint, const char *text)
{
    static const char unix_prefix[] = "unix:";
    static const char tcp_prefix[] = "tcp:";
    struct endpoint read = {.kind = ENDPOINT_UNIX};
    int result = -1;
    if (copy(read.text, sizeof read.text, text, strlen(text))) {
        return -1;
    }
    if (strncmp(text, unix_prefix, sizeof unix_prefix - 1) == 0) {
        const char *path = text + sizeof unix_prefix - 1;
        result = path[0] == '/' ? copy(read.path, sizeof read.path, path, strlen(path)) : -1;
    } else if (strncmp(text, tcp_prefix, sizeof tcp_prefix - 1) == 0) {
        read.kind = ENDPOINT_TCP;
        result = read_host_and_port(&read, text + sizeof tcp_prefix - 1);
    }
    if (result == 0) {
        *endpoint = read;
    }
    return result;
}
