// SPDX-License-Identifier: Apache-2.0
#include "forge_requests.h"

int forge_pattern_set(struct forge_pattern *pattern, enum forge_layout layout, uint32_t clients, uint64_t total,
                      uint64_t size)
{
    if (clients == 0 || size == 0 || total > INT64_MAX)
        return -1;
    uint64_t count = total / size / clients;
    if (count == 0)
        return -1;
    *pattern = (struct forge_pattern){.layout = layout, .clients = clients, .size = size, .count = count};
    return 0;
}

uint64_t forge_offset(const struct forge_pattern *pattern, uint32_t client, uint64_t request)
{
    uint64_t position = request; // in requests
    switch (pattern->layout) {
    case FORGE_SHARED_CONTIGUOUS:
        position = client * pattern->count + request;
        break;
    case FORGE_SHARED_STRIDED:
        position = request * pattern->clients + client;
        break;
    case FORGE_INDIVIDUAL:
        break;
    }
    return position * pattern->size;
}
