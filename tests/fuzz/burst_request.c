// SPDX-License-Identifier: Apache-2.0
// Fuzz the first message of a client that asks a forwarder for a burst buffer. The first byte of the input selects
// whether the rest is a version, or a whole message.
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../../accelerators/forward/forwarder/burst.h"
#include "must.h"

#define VERSION_AT 11U
#define WHOLE 1U

static const struct settings site = {
    .burst_uid = 401, .burst_ram_bytes = 1 << 30, .burst_flash_bytes = 1LL << 32, .burst_flash = "/flash"};

// Return a message that ends with its memory block, so that sanitizers detect reads beyond it.
static struct message *message_of(const uint8_t *data, size_t size, bool is_whole)
{
    const size_t before = is_whole ? 0 : VERSION_AT + 2;
    if (size + before < HEADER_BYTES || size > UINT16_MAX) {
        return NULL;
    }
    struct message *message = message_new((uint32_t)(size + before), TVERSION, NO_TAG);
    MUST(message);
    memcpy(message->bytes + before, data, size);
    if (!is_whole) {
        wire_put32(message->bytes + 7, MSIZE_MAX);
        wire_put16(message->bytes + VERSION_AT, (uint16_t)size);
    }
    return message;
}

// The name is that of a directory, and says who the user is.
static void check_name(const struct burst *burst)
{
    char user[16];
    const size_t job = strspn(burst->name, "0123456789");
    snprintf(user, sizeof user, ".%" PRIu32, burst->user);
    MUST(job > 0 && job <= 10 && strcmp(burst->name + job, user) == 0);
    MUST(strlen(burst->name) < sizeof burst->name && burst->user != NO_FID);
}

static void check_option(const char *option)
{
    static const char *const others[] = {"flash=", "listen=", "diod=", "bursts=", "hand-over=", "linger=", "job="};
    const char *value = strchr(option, '=');
    MUST(value && !strchr(option, ' '));
    for (size_t i = 0; i < sizeof others / sizeof *others; i++) {
        MUST(strncmp(option, others[i], strlen(others[i])) != 0);
    }
    if (burst_allows(&site, option)) {
        MUST(strncmp(option, "ram-bytes=", 10) != 0 || strtoll(value + 1, NULL, 10) <= site.burst_ram_bytes);
        MUST(strncmp(option, "flash-bytes=", 12) != 0 || strtoll(value + 1, NULL, 10) <= site.burst_flash_bytes);
    }
}

// Only the user and root prove a request, with its very text, and the user of slurmctld may drain.
static void check_proof(const struct burst *burst)
{
    char other[sizeof burst->asked + 1];
    const uint32_t stranger = burst->user == 7 ? 8 : 7;
    const uint32_t slurm = (uint32_t)site.burst_uid;
    snprintf(other, sizeof other, "%s ", burst->asked);
    MUST(!burst_disproof(burst, &site, burst->user, burst->asked) && !burst_disproof(burst, &site, 0, burst->asked));
    MUST(burst_disproof(burst, &site, stranger, burst->asked) && burst_disproof(burst, &site, 0, other));
    MUST(burst->user == slurm || !burst_disproof(burst, &site, slurm, burst->asked) == burst->drains);
}

static void check_request(const struct burst *burst, const struct message *message)
{
    const size_t bytes = wire_get16(message->bytes + VERSION_AT), asked = strlen(burst->asked);
    const size_t proof = strlen(burst->proof);
    const char *version = (const char *)message->bytes + VERSION_AT + 2;
    check_name(burst);
    check_proof(burst);
    MUST(burst->option_count <= BURST_WORDS_MAX);
    for (unsigned i = 0; i < burst->option_count; i++) {
        check_option(burst->options[i]);
    }
    MUST(asked < sizeof burst->asked && proof < sizeof burst->proof && !memcmp(version, burst->asked, asked));
    MUST(bytes == asked + (proof ? strlen(" " BURST_PROOF) + proof : 0));
    MUST(!proof || !memcmp(version + bytes - proof, burst->proof, proof));
}

// diod gets a version that it knows, and the rest of the message is as before.
static void check_begin(struct message *message, const struct burst *burst)
{
    bool drains = false;
    const uint32_t length = message->length;
    const bool begins = burst_begin(message, &drains);
    MUST(begins == (burst != NULL));
    if (!burst) {
        MUST(message->length == length);
        return;
    }
    MUST(drains == burst->drains && message->length < length && wire_get32(message->bytes) == message->length);
    MUST(wire_valid(wire_kind(TVERSION), message->bytes, message->length));
    MUST(message->length == VERSION_AT + 2 + strlen(NINE_VERSION));
}

// A reply is passed on, or names the burst buffer.
static void check_answer(const uint8_t *data, size_t size)
{
    struct message *reply = message_of(data, size, true);
    if (reply) {
        wire_put32(reply->bytes, reply->length);
        reply = burst_answer(reply);
        MUST(reply && wire_get32(reply->bytes) == reply->length);
        message_release(reply);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct message *message = size ? message_of(data + 1, size - 1, data[0] & WHOLE) : NULL;
    if (!message) {
        return 0;
    }
    struct burst *burst = malloc(sizeof *burst);
    MUST(burst);
    const bool asks = burst_read(burst, message->bytes, message->length);
    if (asks) {
        check_request(burst, message);
    }
    check_begin(message, asks ? burst : NULL);
    check_answer(data + 1, size - 1);
    free(burst);
    message_release(message);
    return 0;
}
