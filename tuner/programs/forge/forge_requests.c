// SPDX-License-Identifier: Apache-2.0
#include "forge_requests.h"

#define SHORTEST_PAUSE 0.5 // in comparison with the mean

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

double forge_pause(double mean_s, uint32_t client, uint64_t request)
{
    // The mixing function of SplitMix64 (Steele, Lea and Flood 2014).
    uint64_t z = (((uint64_t)client << 32) + request + 1) * 0x9E3779B97F4A7C15U;
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9U;
    z = (z ^ (z >> 27)) * 0x94D049BB133111EBU;
    z ^= z >> 31;
    return mean_s * (SHORTEST_PAUSE + 0x1p-53 * (double)(z >> 11));
}

uint64_t forge_most_requests(double stone_wall_s, double mean_pause_s)
{
    if (!(stone_wall_s > 0 && mean_pause_s > 0))
        return UINT64_MAX;
    const double most = stone_wall_s / (SHORTEST_PAUSE * mean_pause_s) + 1;
    return most < 0x1p63 ? (uint64_t)most : UINT64_MAX;
}
