// SPDX-License-Identifier: Apache-2.0
// Examines by whom burst buffers are asked for: the credential of munge in a request. Threads do so, because munged may
// hang.
#ifndef FORWARDER_PROOF_H
#define FORWARDER_PROOF_H

#include "burst.h"

enum verdict {
    PROOF_GOOD,
    PROOF_BAD,
    PROOF_UNKNOWN, // munged did not answer: the client may try again
};

struct proof; // that is examined

typedef void proof_examined(void *own, enum verdict verdict);

// Start to examine the proof of a request, which must last until `examined` is called, or the proof is forgotten. The
// event loop calls `examined` later. Return NULL if it must be tried again, since too many are examined.
struct proof *proof_examine(struct forwarder *forwarder, const struct burst *burst, proof_examined *examined,
                            void *own);

// Return whether munged has given no answer for PROOF_NS, although it was asked. Every PROOF_NS, it is asked again.
bool proof_hangs(void);

// Let `examined` not be called any more.
void proof_forget(struct proof *proof);

// Note in the log why a request is not believed, at most once a minute for each cause, a constant text.
void proof_log(const struct burst *burst, const char *why);

#endif
