// SPDX-License-Identifier: Apache-2.0
// The result of an exchange with the daemon.
#ifndef REPRISE_RESULT_H
#define REPRISE_RESULT_H

enum client_result {
    CLIENT_OK,
    CLIENT_ABSENT,    // no daemon listens at the endpoint, or this user may not connect
    CLIENT_LATE,      // the deadline passed
    CLIENT_BROKEN,    // the peer closed early, or its answer violates the protocol
    CLIENT_UNTRUSTED, // munge could not make the request's credential, or rejected the answer's
    CLIENT_FAILED,    // this process could not get a descriptor, memory or a child process
};

#endif
