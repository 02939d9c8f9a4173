// SPDX-License-Identifier: Apache-2.0
#include "burst.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "message.h"
#include "wire.h"

#define VERSION_AT 11U // of the string in a Tversion

// Options of the forwarder that a job may choose. Their values are checked when the instance starts.
static const char *const chosen_by_jobs[] = {
    "write-back",    "close",           "workers",       "ram-bytes",       "flash-bytes",   "flash-sync",
    "ram-destagers", "flash-destagers", "ram-threshold", "flash-threshold", "destage-after",
};

// Copy the next word, and move `*from` behind it. Return false if there is none, or if it does not fit.
static bool next_word(const char **from, char *to, size_t room)
{
    *from += strspn(*from, " ");
    const size_t length = strcspn(*from, " ");
    if (!length || length >= room) {
        return false;
    }
    memcpy(to, *from, length);
    to[length] = '\0';
    *from += length;
    return true;
}

static bool is_number(const char *text)
{
    return *text && strlen(text) <= 10 && strspn(text, "0123456789") == strlen(text) && (text[0] != '0' || !text[1]);
}

// Copy the version of a Tversion, and its proof, which is the last word. Return false if it does not begin with the
// words for a burst buffer.
static bool read_version(struct burst *burst, const uint8_t *message, uint32_t length)
{
    static const char last[] = " " BURST_PROOF;
    uint32_t position = VERSION_AT;
    uint16_t bytes = 0;
    const char *version =
        length > VERSION_AT && message[4] == TVERSION ? wire_string(message, length, &position, &bytes) : NULL;
    const size_t begin = sizeof BURST_VERSION - 1;
    if (!version || bytes <= begin || memcmp(version, BURST_VERSION " ", begin + 1) != 0 ||
        memchr(version, '\0', bytes)) {
        return false;
    }
    const char *proof = memmem(version, bytes, last, sizeof last - 1);
    const size_t asked = proof ? (size_t)(proof - version) : bytes;
    if (asked >= sizeof burst->asked) {
        return false;
    }
    memcpy(burst->asked, version, asked);
    if (proof) {
        proof += sizeof last - 1;
        const size_t room = (size_t)(version + bytes - proof);
        if (!room || room >= sizeof burst->proof || memchr(proof, ' ', room)) {
            return false;
        }
        memcpy(burst->proof, proof, room);
    }
    return true;
}

static bool is_chosen_by_jobs(const char *option)
{
    const size_t length = strcspn(option, "=");
    if (option[length] != '=') {
        return false;
    }
    for (size_t i = 0; i < sizeof chosen_by_jobs / sizeof *chosen_by_jobs; i++) {
        if (strlen(chosen_by_jobs[i]) == length && !memcmp(chosen_by_jobs[i], option, length)) {
            return true;
        }
    }
    return false;
}

bool burst_read(struct burst *burst, const uint8_t *message, uint32_t length)
{
    char job[12], user[12];
    const char *rest = burst->asked + sizeof BURST_VERSION - 1;
    char *to = burst->words;
    *burst = (struct burst){.drains = false};
    if (!read_version(burst, message, length) || !next_word(&rest, job, sizeof job) || !is_number(job) ||
        !next_word(&rest, user, sizeof user) || !is_number(user)) {
        return false;
    }
    const unsigned long long number = strtoull(user, NULL, 10);
    if (number >= UINT32_MAX) {
        return false;
    }
    burst->user = (uint32_t)number;
    snprintf(burst->name, sizeof burst->name, "%s.%s", job, user);
    while (rest += strspn(rest, " "), *rest) {
        if (burst->option_count == BURST_WORDS_MAX || !next_word(&rest, to, sizeof burst->words)) {
            return false;
        }
        if (!strcmp(to, "drain")) {
            burst->drains = true;
        } else if (!is_chosen_by_jobs(to)) {
            return false;
        } else {
            burst->options[burst->option_count++] = to;
            to += strlen(to) + 1;
        }
    }
    return true;
}

const char *burst_disproof(const struct burst *burst, const struct settings *settings, uint32_t user, const char *text)
{
    if (strcmp(text, burst->asked) != 0) {
        return "the credential was made for another purpose";
    }
    const bool may_drain = burst->drains && user == (uint32_t)settings->burst_uid;
    return user == 0 || user == burst->user || may_drain ? NULL : "the credential is not of this user, nor of root";
}

bool burst_allows(const struct settings *settings, const char *option)
{
    static const char ram[] = "ram-bytes=", flash[] = "flash-bytes=", mode[] = "write-back=flash";
    if (!strncmp(option, ram, sizeof ram - 1)) {
        return settings_valid(option) && strtoll(option + sizeof ram - 1, NULL, 10) <= settings->burst_ram_bytes;
    }
    if (!strncmp(option, flash, sizeof flash - 1)) {
        return settings_valid(option) && strtoll(option + sizeof flash - 1, NULL, 10) <= settings->burst_flash_bytes;
    }
    return settings_valid(option) && (strcmp(option, mode) != 0 || settings->burst_flash);
}

bool burst_begin(struct message *message, bool *drains)
{
    struct burst burst;
    if (!burst_read(&burst, message->bytes, message->length)) {
        return false;
    }
    *drains = burst.drains;
    const size_t bytes = sizeof NINE_VERSION - 1;
    message->length = VERSION_AT + 2 + (uint32_t)bytes;
    wire_put32(message->bytes, message->length);
    wire_put16(message->bytes + VERSION_AT, (uint16_t)bytes);
    memcpy(message->bytes + VERSION_AT + 2, NINE_VERSION, bytes);
    return true;
}

struct message *burst_answer(struct message *reply)
{
    const size_t plain = sizeof NINE_VERSION - 1, bytes = sizeof BURST_VERSION - 1;
    if (reply->bytes[4] != RVERSION || reply->length != VERSION_AT + 2 + plain ||
        memcmp(reply->bytes + VERSION_AT + 2, NINE_VERSION, plain) != 0) {
        return reply;
    }
    struct message *answer = message_new(VERSION_AT + 2 + (uint32_t)bytes, RVERSION, NO_TAG);
    if (answer) {
        wire_put32(answer->bytes + 7, wire_get32(reply->bytes + 7));
        wire_put16(answer->bytes + VERSION_AT, (uint16_t)bytes);
        memcpy(answer->bytes + VERSION_AT + 2, BURST_VERSION, bytes);
    }
    message_release(reply);
    return answer;
}
