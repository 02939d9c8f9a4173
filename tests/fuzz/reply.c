// SPDX-License-Identifier: Apache-2.0
// Fuzz the handling of a daemon's reply. Checks what the plugin accepts, carries to the job and shows to the user, and
// the path of the program that a reply asks the plugin to identify. The last byte of the input selects the allocation
// that fails.
#include "../../spank/submit.c" // for its static functions; first, because it sets libc's feature macros

#include "../../spank/message.h"
#include "harness.h"

// Checks that a terminal can show the line unchanged: no control characters, including C1 controls (U+0080 to U+009F).
static void check_explanation(const struct decision *decision)
{
    static const struct settings settings = {.matcher.count = 1, .matcher.endpoints[0].text = "unix:/m.sock"};
    char *line = explain(decision, CLIENT_OK, &settings);
    MUST(line);
    for (const unsigned char *byte = (const unsigned char *)line; *byte; byte++) {
        MUST(*byte >= ' ' && *byte != 0x7F);
        MUST(byte[0] != 0xC2 || byte[1] < 0x80 || byte[1] > 0x9F);
    }
    free(line);
}

static void check_carried(const struct decision *decision)
{
    struct decision again = {0};
    char *carried = decision_to_carried(decision);
    if (!carried) { // may be too long, because a byte below ' ' takes six bytes in JSON
        return;
    }
    MUST(strlen(carried) <= CARRY_MAX);
    MUST(decision_from_carried(&again, carried, strlen(carried)) == 0);
    MUST(same_to_the_job(decision, &again));
    decision_free(&again);
    free(carried);
}

static void check_asking(const char *text, size_t size)
{
    char *path = message_asks_about(text, size);
    MUST(!path || (*path == '/' && strlen(path) <= PROGRAM_PATH_MAX));
    free(path);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size == 0) {
        return 0;
    }
    struct decision decision = {0};
    const unsigned int fail_at = data[--size];
    char *text = copy_text(data, size);
    if (decision_from_reply(&decision, text, size) == 0) {
        MUST(decision.verdict <= VERDICT_DEFER);
        check_decision(&decision);
        check_explanation(&decision);
        if (decision.verdict != VERDICT_DEFER) {
            check_carried(&decision);
        }
    } else {
        MUST(same_to_the_job(&decision, &(struct decision){0}));
    }
    check_asking(text, size);
    check_without_memory(decision_from_reply, text, size, &decision, fail_at);
    decision_free(&decision);
    free(text);
    return 0;
}
