// SPDX-License-Identifier: Apache-2.0
// Fuzz the conversion of arbitrary bytes to text in a request. The first byte of the input is the maximum size of the
// text in bytes.
#include <json-c/json.h>
#include <stdlib.h>
#include <string.h>

#include "../../spank/json.h"
#include "harness.h"

// Returns the length of the UTF-8 character at `at` according to the grammar in RFC 3629, section 4; 0 if there is
// none.
static size_t character(const unsigned char *at)
{
    static const struct {
        unsigned char first[2], second[2];
        size_t size;
    } forms[] = {
        {{0xC2, 0xDF}, {0x80, 0xBF}, 2}, {{0xE0, 0xE0}, {0xA0, 0xBF}, 3}, {{0xE1, 0xEC}, {0x80, 0xBF}, 3},
        {{0xED, 0xED}, {0x80, 0x9F}, 3}, {{0xEE, 0xEF}, {0x80, 0xBF}, 3}, {{0xF0, 0xF0}, {0x90, 0xBF}, 4},
        {{0xF1, 0xF3}, {0x80, 0xBF}, 4}, {{0xF4, 0xF4}, {0x80, 0x8F}, 4},
    };
    for (size_t i = 0; i < sizeof forms / sizeof *forms; i++) {
        bool fits = at[0] >= forms[i].first[0] && at[0] <= forms[i].first[1] && at[1] >= forms[i].second[0] &&
                    at[1] <= forms[i].second[1];
        for (size_t byte = 2; fits && byte < forms[i].size; byte++) {
            fits = (at[byte] & 0xC0) == 0x80; // false at the NUL after the text
        }
        if (fits) {
            return forms[i].size;
        }
    }
    return at[0] < 0x80;
}

static bool is_utf8(const char *text, size_t size)
{
    const unsigned char *at = (const unsigned char *)text;
    for (size_t taken; size > 0; at += taken, size -= taken) {
        taken = character(at);
        if (taken == 0 || taken > size) {
            return false;
        }
    }
    return true;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size == 0) {
        return 0;
    }
    bool cut = false;
    const size_t limit = data[0];
    char *bytes = copy_text(data + 1, --size);
    struct json_object *text = json_text_cut(bytes, size, limit, &cut);
    struct json_object *whole = json_text(bytes, size);
    const size_t text_size = (size_t)json_object_get_string_len(text);
    const size_t whole_size = (size_t)json_object_get_string_len(whole);
    const char *whole_text = json_object_get_string(whole);
    MUST(is_utf8(whole_text, whole_size));
    MUST(whole_size == size || !is_utf8(bytes, size));
    MUST(text_size <= limit && cut == (whole_size > limit) && text_size + (cut ? 4 : 1) > (cut ? limit : whole_size));
    MUST(is_utf8(json_object_get_string(text), text_size));
    MUST(memcmp(json_object_get_string(text), whole_text, text_size) == 0);

    struct json_object *again = json_text(whole_text, whole_size);
    MUST(json_object_equal(again, whole)); // valid UTF-8 must not change
    size_t serialised_size = 0;
    char *serialised = json_serialise(whole, limit, &serialised_size);
    MUST(serialised ? serialised_size <= limit && strlen(serialised) == serialised_size : serialised_size > limit);
    free(serialised);
    json_object_put(again);
    json_object_put(whole);
    json_object_put(text);
    free(bytes);
    return 0;
}
