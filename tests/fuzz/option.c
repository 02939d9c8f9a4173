// SPDX-License-Identifier: Apache-2.0
// Fuzz the option --reprise and its environment variable. The first byte of the input selects the context, local or
// remote. Two lines follow, with the values of the option and of the variable.
#include <stdlib.h>
#include <string.h>

#include "harness.h"

#include "../../spank/options.c" // included for its static functions

static spank_opt_cb_f callback;
static size_t refused;

spank_err_t spank_option_register(spank_t spank, struct spank_option *option)
{
    (void)spank;
    callback = option->cb;
    return ESPANK_SUCCESS;
}

static void count_refused(const char *value)
{
    MUST(value);
    refused++;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size == 0) {
        return 0;
    }
    size_t count = 0;
    bool ignored = false;
    char *text = copy_text(data + 1, size - 1);
    char **words = split(text, size - 1, '\n', 2, &count);
    const int remote = data[0] & 1;
    const enum mode option = mode_from_word(words[0]);
    const enum mode twin = mode_from_word(words[1]);

    refused = 0;
    chosen = MODE_UNSET;
    options_register(NULL, count_refused);
    const int result = callback(0, words[0], remote);
    MUST(result == (option == MODE_UNSET && !remote ? -1 : 0));
    MUST(refused == (result ? 1 : 0));
    MUST(option == MODE_UNSET || strcmp(mode_word(option), words[0]) == 0);

    const enum mode mode = options_mode(words[1], MODE_OBSERVE, &ignored);
    MUST(mode == (option != MODE_UNSET ? option : twin != MODE_UNSET ? twin : MODE_OBSERVE));
    MUST(ignored == (option == MODE_UNSET && twin == MODE_UNSET && words[1] && *words[1]));
    free(words);
    free(text);
    return 0;
}
