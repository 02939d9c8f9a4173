// SPDX-License-Identifier: Apache-2.0
#include "proof.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "credential.h"
#include "log.h"
#include "pool.h"

#define CAUSES 16 // more than there are
#define NS_PER_S 1000000000ULL

struct proof {
    const struct settings *settings;
    const struct burst *burst;
    proof_examined *examined; // NULL: the client is gone
    void *own;
};

static struct {
    struct pool *pool;  // started for the first proof
    unsigned count;     // proofs that its threads examine, or will
    uint64_t asked_ns;  // time since which munged has given no answer, although it was asked; 0: it has answered
    uint64_t failed_ns; // time at which a thread last gave up
} examining;

void proof_log(const struct burst *burst, const char *why)
{
    static struct {
        const char *why;
        uint64_t next_ns; // time from which the cause is logged again
        unsigned long more;
    } causes[CAUSES];
    size_t i = 0;
    while (i < CAUSES - 1 && causes[i].why && strcmp(causes[i].why, why) != 0) {
        i++;
    }
    causes[i].why = why;
    if (scheduler_now() < causes[i].next_ns) {
        causes[i].more++;
        return;
    }
    char more[80] = "";
    if (causes[i].more) {
        snprintf(more, sizeof more, " (and %lu more requests since the last such line)", causes[i].more);
    }
    log_line("a request for burst buffer %s is not believed: %s%s", burst->name, why, more);
    causes[i].next_ns = scheduler_now() + PROOF_LOG_S * NS_PER_S;
    causes[i].more = 0;
}

bool proof_hangs(void)
{
    const uint64_t now = scheduler_now();
    return examining.asked_ns && now - examining.asked_ns >= PROOF_NS &&
           (examining.count || now - examining.failed_ns < PROOF_NS);
}

static void note_asked(void)
{
    const uint64_t now = scheduler_now();
    if (!examining.asked_ns || (!examining.count && now - examining.failed_ns >= PROOF_NS)) {
        examining.asked_ns = now;
    }
    examining.count++;
}

static void note_answer(bool answered)
{
    const uint64_t now = scheduler_now();
    examining.count--;
    if (answered) {
        examining.asked_ns = examining.count ? now : 0;
    } else {
        examining.failed_ns = now;
    }
}

static void on_opened(void *own, const struct opened *opened)
{
    struct proof *proof = own;
    note_answer(!opened->may_be_valid);
    if (proof->examined) {
        const char *why =
            opened->text ? burst_disproof(proof->burst, proof->settings, opened->user, opened->text) : opened->why;
        if (why) {
            proof_log(proof->burst, why);
        }
        proof->examined(proof->own, !why ? PROOF_GOOD : opened->may_be_valid ? PROOF_UNKNOWN : PROOF_BAD);
    }
    free(opened->text);
    free(proof);
}

struct proof *proof_examine(struct forwarder *forwarder, const struct burst *burst, proof_examined *examined, void *own)
{
    if (!examining.pool) {
        examining.pool = pool_start(forwarder->base, PROOF_THREADS);
    }
    struct proof *proof = examining.pool && examining.count < PROOFS_MAX ? malloc(sizeof *proof) : NULL;
    if (!proof) {
        return NULL;
    }
    *proof = (struct proof){&forwarder->settings, burst, examined, own};
    if (credential_open(examining.pool, burst->proof, on_opened, proof)) {
        free(proof);
        return NULL;
    }
    note_asked();
    return proof;
}

void proof_forget(struct proof *proof)
{
    proof->examined = NULL;
}
