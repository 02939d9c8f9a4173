// SPDX-License-Identifier: Apache-2.0
// How an exchange with the daemon went.
#ifndef REPRISE_RESULT_H
#define REPRISE_RESULT_H

enum client_result {
    CLIENT_OK,
    CLIENT_ABSENT,    // nobody listens there, or we may not connect
    CLIENT_LATE,      // the deadline passed
    CLIENT_BROKEN,    // the peer closed early, or its answer is not as the protocol says
    CLIENT_UNTRUSTED, // munge does not vouch for us, or not for the answer
    CLIENT_FAILED,    // this process has no descriptor, memory or child left
};

#endif
