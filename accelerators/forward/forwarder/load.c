// SPDX-License-Identifier: Apache-2.0
#include "load.h"

#include "limits.h"

#define NS_PER_S 1e9
#define BYTES_PER_MB 1e6

static uint64_t gap(const struct load *load, uint64_t now_ns)
{
    const uint64_t since = load->idle_since_ns > load->begin_ns ? load->idle_since_ns : load->begin_ns;
    const uint64_t passed = now_ns > since ? now_ns - since : 0;
    return passed >= IDLE_GAP_NS ? passed : 0;
}

// A client may ask for more bytes than a message can hold.
static uint32_t possible(uint32_t bytes)
{
    return bytes < MSIZE_MAX ? bytes : MSIZE_MAX;
}

void load_begin(struct load *load, uint64_t now_ns)
{
    load->begin_ns = now_ns;
    load->idle_ns = 0;
    load->served = 0;
}

void load_arrived(struct load *load, uint32_t bytes, uint64_t now_ns)
{
    if (!load->requests++) {
        load->idle_ns += gap(load, now_ns);
    }
    load->outstanding += possible(bytes);
}

void load_ended(struct load *load, uint32_t bytes, uint64_t now_ns)
{
    load->outstanding -= possible(bytes);
    if (!--load->requests) {
        load->idle_since_ns = now_ns;
    }
}

void load_served(struct load *load, uint64_t bytes)
{
    load->served += bytes;
}

struct load_measured load_measure(const struct load *load, uint64_t now_ns)
{
    const double ns = now_ns > load->begin_ns ? (double)(now_ns - load->begin_ns) : 1;
    const uint64_t idle_ns = load->idle_ns + (load->requests ? 0 : gap(load, now_ns));
    const double per_mb = ns / NS_PER_S * BYTES_PER_MB;
    return (struct load_measured){.seconds = ns / NS_PER_S,
                                  .bytes = load->served,
                                  .bandwidth = (double)load->served / per_mb,
                                  .load = (double)(load->served + load->outstanding) / per_mb,
                                  .has_load = (double)idle_ns * 100 >= ns * IDLE_PERCENT};
}
