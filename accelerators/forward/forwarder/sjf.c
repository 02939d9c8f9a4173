// SPDX-License-Identifier: Apache-2.0
// Shortest job first: small requests go to diod before large ones. Requests age: one of N bytes goes no later than
// those that arrive N * AGEING_NS_PER_BYTE after it, whatever their size. So no request starves, and the order of two
// requests never changes while they wait.
//
// The queue is a pairing heap over the requests themselves, so that adding a request needs no memory and cannot fail.
// In it, `child` is the first child, `next` the next sibling, and `previous` the sibling before, or the parent.
#include <stdlib.h>

#include "scheduler.h"

// Small requests pass one of 64 KiB for at most 66 ms, and one of 1 MiB, which is the largest, for about 1 s.
#define AGEING_NS_PER_BYTE 1000U

struct sjf {
    struct scheduled *root;
};

static void *create(const struct scheduler_options *options)
{
    (void)options;
    return calloc(1, sizeof(struct sjf));
}

// Return the time from which later requests no longer pass this one.
static uint64_t rank(const struct scheduled *scheduled)
{
    return scheduled->arrived_ns + (uint64_t)scheduled->bytes * AGEING_NS_PER_BYTE;
}

static bool goes_first(const struct scheduled *one, const struct scheduled *other)
{
    const uint64_t rank_one = rank(one);
    const uint64_t rank_other = rank(other);
    return rank_one < rank_other || (rank_one == rank_other && one->arrived_ns <= other->arrived_ns);
}

// Return the root of two heaps that become one; either may be NULL.
static struct scheduled *meld(struct scheduled *one, struct scheduled *other)
{
    if (!one || !other) {
        return one ? one : other;
    }
    struct scheduled *parent = goes_first(one, other) ? one : other;
    struct scheduled *child = parent == one ? other : one;
    child->next = parent->child;
    child->previous = parent;
    if (child->next) {
        child->next->previous = child;
    }
    parent->child = child;
    parent->next = NULL;
    parent->previous = NULL;
    return parent;
}

// Return the root of the heap that siblings become: pairs are melded first, which keeps the heap flat.
static struct scheduled *meld_siblings(struct scheduled *first)
{
    struct scheduled *pairs = NULL; // list by `next`
    while (first) {
        struct scheduled *second = first->next;
        struct scheduled *rest = second ? second->next : NULL;
        struct scheduled *pair = meld(first, second);
        pair->next = pairs;
        pairs = pair;
        first = rest;
    }
    struct scheduled *root = NULL;
    while (pairs) {
        struct scheduled *rest = pairs->next;
        pairs->next = NULL;
        root = meld(root, pairs);
        pairs = rest;
    }
    return root;
}

static void enqueue(void *own, struct scheduled *scheduled)
{
    struct sjf *sjf = own;
    scheduled->child = scheduled->next = scheduled->previous = NULL;
    sjf->root = meld(sjf->root, scheduled);
}

static void withdraw(void *own, struct scheduled *scheduled)
{
    struct sjf *sjf = own;
    struct scheduled *children = meld_siblings(scheduled->child);
    if (scheduled == sjf->root) {
        sjf->root = children;
        if (children) {
            children->previous = NULL;
        }
        return;
    }
    struct scheduled *before = scheduled->previous;
    *(before->child == scheduled ? &before->child : &before->next) = scheduled->next;
    if (scheduled->next) {
        scheduled->next->previous = before;
    }
    sjf->root = meld(sjf->root, children);
}

static struct scheduled *next(void *own, const struct instant *now, uint64_t *wake_ns)
{
    struct sjf *sjf = own;
    struct scheduled *scheduled = sjf->root;
    (void)now;
    (void)wake_ns;
    if (scheduled) {
        withdraw(sjf, scheduled);
    }
    return scheduled;
}

const struct scheduler_policy sjf_policy = {
    .name = "sjf",
    .create = create,
    .destroy = free,
    .enqueue = enqueue,
    .next = next,
    .withdraw = withdraw,
};
