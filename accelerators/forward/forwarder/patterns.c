// SPDX-License-Identifier: Apache-2.0
#include "patterns.h"

#include "metrics.h"

#define NS_PER_S 1000000000ULL

void patterns_start(struct patterns *patterns, uint64_t (*wall)(void), uint64_t now_ns, uint32_t window_us)
{
    patterns->wall = wall;
    patterns->window_us = window_us;
    patterns->second.end_ns = now_ns;
    patterns_advance(patterns, now_ns);
}

// Seconds begin with those of the wall clock, so that the features of several forwarders can be put together. If the
// clock was set, or the forwarder has just started, a second has half to one and a half of the usual length.
void patterns_advance(struct patterns *patterns, uint64_t now_ns)
{
    struct features *second = &patterns->second;
    if (now_ns < second->end_ns) {
        return;
    }
    const uint64_t wall_ns = patterns->wall();
    const uint64_t passed_ns = wall_ns % NS_PER_S;
    const uint64_t longest_ns = now_ns - second->end_ns;
    const uint64_t begun_ns = passed_ns < longest_ns ? passed_ns : longest_ns;
    *second = (struct features){.second = second->second + 1,
                                .begin_ns = now_ns - begun_ns,
                                .end_ns = now_ns + NS_PER_S - passed_ns,
                                .begun_at_ns = wall_ns - begun_ns,
                                .window_us = patterns->window_us};
    if (second->end_ns - second->begin_ns < NS_PER_S / 2) {
        second->end_ns += NS_PER_S;
    }
}

// Return a pattern's features in the current second.
static struct features *current(struct patterns *patterns, struct pattern *pattern, uint64_t now_ns)
{
    patterns_advance(patterns, now_ns);
    if (pattern->current.second != patterns->second.second) {
        if (pattern->current.second) {
            pattern->last = pattern->current;
        }
        pattern->current = patterns->second;
    }
    return &pattern->current;
}

// Mix all bits, since inode numbers often follow one another, or are multiples of a power of 2 (the end of
// MurmurHash3).
static uint64_t hash(const struct access *access)
{
    uint64_t value = access->file + (access->owner << 40);
    value = (value ^ value >> 33) * 0xFF51AFD7ED558CCDULL;
    value = (value ^ value >> 33) * 0xC4CEB9FE1A85EC53ULL;
    return value ^ value >> 33;
}

// Return the place of a file's last request. A file that is not in the table takes the place of the one that was not
// used for the longest time, among the few that have the same hash.
static struct stream *find(struct patterns *patterns, const struct access *access, bool *is_new)
{
    struct stream *set = patterns->streams[hash(access) % STREAM_SETS];
    struct stream *oldest = set;
    for (int i = 0; i < STREAMS_PER_SET; i++) {
        if (set[i].file == access->file && set[i].owner == access->owner) {
            *is_new = false;
            return &set[i];
        }
        if (set[i].used_ns < oldest->used_ns) {
            oldest = &set[i];
        }
    }
    patterns->replaced += oldest->owner && oldest->used_ns >= patterns->second.begin_ns;
    *oldest = (struct stream){.owner = access->owner, .file = access->file};
    *is_new = true;
    return oldest;
}

void patterns_arrived(struct patterns *patterns, struct pattern *pattern, const struct access *access, uint64_t now_ns)
{
    struct features *features = current(patterns, pattern, now_ns);
    bool is_new;
    struct stream *stream = find(patterns, access, &is_new);
    if (is_new || stream->used_ns < features->begin_ns) {
        features->files++;
    }
    if (!is_new) {
        const uint64_t at = access->offset;
        features->distances++;
        features->distance_sum += (double)(at > stream->end ? at - stream->end : stream->end - at);
    }
    stream->end = access->offset + access->bytes;
    stream->used_ns = now_ns;
    if (!features->requests || access->bytes < features->request_min) {
        features->request_min = access->bytes;
    }
    if (access->bytes > features->request_max) {
        features->request_max = access->bytes;
    }
    features->requests++;
    features->request_sum += access->bytes;
}

void patterns_served(struct patterns *patterns, struct pattern *pattern, uint64_t bytes, uint64_t now_ns)
{
    current(patterns, pattern, now_ns)->served_bytes += bytes;
}

void patterns_set_window(struct metrics *metrics, uint32_t window_us, uint64_t now_ns)
{
    struct patterns *patterns = &metrics->patterns;
    patterns_advance(patterns, now_ns);
    if (window_us == patterns->window_us) {
        return; // features of this second stay valid
    }
    patterns->window_us = window_us;
    patterns->second.window_us = WINDOW_NONE;
    for (unsigned i = 0; i <= JOBS_MAX; i++) {
        for (int k = 0; k < OPERATION_OTHER; k++) {
            struct features *features = &metrics->jobs[i].patterns[k].current;
            if (features->second == patterns->second.second) {
                features->window_us = WINDOW_NONE;
            }
        }
    }
}

const struct features *patterns_last(const struct patterns *patterns, const struct pattern *pattern)
{
    const bool is_over = pattern->current.second != patterns->second.second;
    const struct features *features = is_over ? &pattern->current : &pattern->last;
    return features->second ? features : NULL;
}
