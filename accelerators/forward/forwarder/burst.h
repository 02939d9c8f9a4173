// SPDX-License-Identifier: Apache-2.0
// Burst buffers: for each job that asks for one (see nine.h), an instance of this program runs as the job's user, with
// the job's options and a flash directory of its own. The forwarder of the I/O node starts instances and hands the
// connections of their jobs over to them. It keeps no state about them: an instance is found by its socket.
#ifndef FORWARDER_BURST_H
#define FORWARDER_BURST_H

#include "forwarder.h"
#include "message.h"
#include "wire.h"

#define BURST_NAME_BYTES 24 // JOB.USER
#define BURST_WORDS_MAX 16
// Longest first message of a client that asks for a burst buffer.
#define BURST_MESSAGE_BYTES (13 + BURST_BYTES + sizeof BURST_PROOF + BURST_CREDENTIAL_BYTES)

// The request of a client.
struct burst {
    char name[BURST_NAME_BYTES];
    uint32_t user;
    bool drains;
    char asked[BURST_BYTES];            // the version, without the proof
    char proof[BURST_CREDENTIAL_BYTES]; // "": none
    char words[BURST_BYTES];            // the options' texts, each with its NUL
    const char *options[BURST_WORDS_MAX];
    unsigned option_count;
};

// Read the request in a Tversion. Return false if the message is none, or asks for something that jobs may not choose.
bool burst_read(struct burst *burst, const uint8_t *message, uint32_t length);

// Return why a credential is no proof of a request, by the user who made it and the text in it; NULL if it is.
const char *burst_disproof(const struct burst *burst, const struct settings *settings, uint32_t user, const char *text);

// Return whether jobs may choose an option, given as NAME=VALUE, within the site's limits.
bool burst_allows(const struct settings *settings, const char *option);

// -- in the forwarder (hand_over.c, instance_start.c, instance_places.c) --

// Take a connection that was accepted: hand it over to a burst buffer if it asks for one, else serve it.
void burst_arrive(struct forwarder *forwarder, int fd);

// Note that burst buffers have ended; called by the event loop.
void burst_ended(evutil_socket_t number, short what, void *own);

// The number of burst buffers that run, or start, or have data on flash.
unsigned burst_count(const struct settings *settings);

// Start the burst buffers that have data on flash.
void burst_resume(struct forwarder *forwarder);

// -- in an instance (instance.c) --

// Make sure that no other instance serves the job, before this one looks at its flash directory. Return 0; -1 with the
// cause in `*why`. Ends the program if there is another one.
int burst_lock(const char *directory, const char **why);

// Return a socket on which connections are received; -1 with the cause in `*why`. The program ends once nobody has
// needed it for a while.
int burst_listen(struct forwarder *forwarder, const char **why);

// Receive a connection; -1 with errno.
int burst_receive(int listening);

// Remove the instance's socket and lock, if this is one.
void burst_remove(void);

// Replace the version in a Tversion by that of 9P2000.L, before diod gets it. Return whether the client asked for a
// burst buffer; `*drains` says whether it waits for delayed data.
bool burst_begin(struct message *message, bool *drains);

// Return a reply to Tversion that names the burst buffer, in place of diod's, which it takes over; NULL without memory.
struct message *burst_answer(struct message *reply);

#endif
