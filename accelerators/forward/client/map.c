// SPDX-License-Identifier: Apache-2.0
#define _GNU_SOURCE
#include "map.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <string.h>
#include <sys/un.h>

#include "variables.h"

_Static_assert(sizeof((struct sockaddr_un *)0)->sun_path == SOCKET_BYTES, "the longest path of a socket");

static socklen_t unix_address(const char *path, size_t length, struct sockaddr_storage *to)
{
    struct sockaddr_un *local = (struct sockaddr_un *)to;
    if (length >= SOCKET_BYTES) {
        return 0;
    }
    for (size_t i = 0; i < length; i++) {
        if ((unsigned char)path[i] <= ' ' || path[i] == 127) {
            return 0;
        }
    }
    local->sun_family = AF_UNIX;
    memcpy(local->sun_path, path, length);
    return (socklen_t)(offsetof(struct sockaddr_un, sun_path) + length + 1);
}

// Convert the text after the last colon of an address to a port in network byte order; 0 if it is invalid.
static uint16_t port_of(const char *text, size_t length)
{
    char digits[6];
    if (!length || length >= sizeof digits || text[0] == '0') {
        return 0;
    }
    memcpy(digits, text, length);
    digits[length] = '\0';
    const int64_t port = variables_number(digits, 1, 65535);
    return port < 0 ? 0 : htons((uint16_t)port);
}

socklen_t map_address(const char *address, size_t length, struct sockaddr_storage *to)
{
    char host[INET6_ADDRSTRLEN];
    struct sockaddr_in *four = (struct sockaddr_in *)to;
    struct sockaddr_in6 *six = (struct sockaddr_in6 *)to;
    memset(to, 0, sizeof *to);
    if (!length || length >= ADDRESS_BYTES || memchr(address, '\0', length)) {
        return 0;
    }
    if (address[0] == '/') {
        return unix_address(address, length, to);
    }
    const char *colon = memrchr(address, ':', length);
    if (!colon) {
        return 0;
    }
    const uint16_t port = port_of(colon + 1, (size_t)(address + length - colon - 1));
    size_t size = (size_t)(colon - address);
    const int bracketed = size > 2 && address[0] == '[' && address[size - 1] == ']';
    address += bracketed;
    size -= bracketed ? 2 : 0;
    if (!port || !size || size >= sizeof host) {
        return 0;
    }
    memcpy(host, address, size);
    host[size] = '\0';
    if (bracketed && inet_pton(AF_INET6, host, &six->sin6_addr) == 1) {
        six->sin6_family = AF_INET6;
        six->sin6_port = port;
        return sizeof *six;
    }
    if (!bracketed && inet_pton(AF_INET, host, &four->sin_addr) == 1) {
        four->sin_family = AF_INET;
        four->sin_port = port;
        return sizeof *four;
    }
    return 0;
}

// Return the length of the line at `text`, without its newline; -1 if it has none.
static ptrdiff_t line_length(const char *text, const char *end)
{
    const char *newline = memchr(text, '\n', (size_t)(end - text));
    return newline ? newline - text : -1;
}

int map_choose(const char *text, size_t size, uint32_t node, char address[ADDRESS_BYTES])
{
    const char *end = text + size;
    const size_t first = sizeof MAP_FIRST_LINE - 1;
    struct sockaddr_storage ignored;
    int count = 0;
    address[0] = '\0';
    if (size > MAP_BYTES || size < first + 1 || memcmp(text, MAP_FIRST_LINE "\n", first + 1) != 0) {
        return -1;
    }
    text += first + 1;
    for (const char *line = text; line < end; count++) {
        const ptrdiff_t length = line_length(line, end);
        if (length < 0 || !map_address(line, (size_t)length, &ignored)) {
            return -1;
        }
        line += length + 1;
    }
    if (!count) {
        return 0;
    }
    for (uint32_t skip = node % (uint32_t)count; skip; skip--) {
        text += line_length(text, end) + 1;
    }
    const size_t length = (size_t)line_length(text, end);
    memcpy(address, text, length);
    address[length] = '\0';
    return count;
}
