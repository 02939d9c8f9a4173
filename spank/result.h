// SPDX-License-Identifier: Apache-2.0
// The result of an exchange with the daemon.
#ifndef REPRISE_RESULT_H
#define REPRISE_RESULT_H

enum client_result {
    CLIENT_OK,
    CLIENT_ABSENT,        // no daemon listens at the endpoint, or this user may not connect
    CLIENT_LATE,          // the deadline passed
    CLIENT_BROKEN,        // the peer closed early, or its answer violates the protocol
    CLIENT_UNTRUSTED,     // the request's credential could not be made, or the answer's was rejected
    CLIENT_NO_CREDENTIAL, // over TCP: this host has no method to make credentials
    CLIENT_FAILED,        // this process could not get a descriptor, memory or a child process
};

// Return a result's cause in words, without a period; "" for CLIENT_OK.
const char *result_words(enum client_result result);

#endif
