// SPDX-License-Identifier: Apache-2.0
// Fuzz the parser of sbatch command lines, whose words are separated by NUL. The results must be those of
// getopt_long(3).
#include <getopt.h>
#include <stdlib.h>
#include <string.h>

#include "harness.h"

#include "../../spank/sbatch_options.c" // included for its static tables

#define OPTIONS_MAX 256
enum { WRAP = 1000, CHDIR, OTHER }; // codes of long options, larger than any character

static struct option options[OPTIONS_MAX];

// Fills `options` with the options of sbatch in the newest supported release of Slurm.
static void add_options(void)
{
    size_t count = 0;
    for (size_t i = 0; i < sizeof long_options / sizeof *long_options; i++) {
        const struct long_option *option = &long_options[i];
        const char *name = option->name;
        if (option->last == SLURM_RELEASES - 1) {
            const int value = strcmp(name, "wrap") == 0 ? WRAP : strcmp(name, "chdir") == 0 ? CHDIR : OTHER + (int)i;
            MUST(count < OPTIONS_MAX - 1);
            const int takes = option->takes_word ? required_argument : optional_argument;
            options[count++] = (struct option){.name = name, .has_arg = takes, .val = value};
        }
    }
}

static bool is_script(const void *context, const char *word, const char *directory)
{
    (void)context;
    (void)directory;
    return word[0] == 's'; // any answer must do
}

// Reads the line with getopt_long. Returns false if sbatch refuses the line or if the line's meaning is ambiguous; the
// plugin's parser may then return any result.
static bool read_with_getopt(int argc, char **argv, struct sbatch_words *words)
{
    char letters[sizeof short_options + 1] = "+";
    memcpy(letters + 1, short_options, sizeof short_options);
    *words = (struct sbatch_words){0};
    optind = 0;
    opterr = 0;
    for (int letter; (letter = getopt_long(argc, argv, letters, options, NULL)) != -1;) {
        if (letter == '?' || letter == WRAP) {
            return letter == WRAP;
        }
        words->directory = letter == 'D' || letter == CHDIR ? optarg : words->directory;
    }
    words->script = optind < argc ? (size_t)optind : 0;
    return !words->script || strcmp(argv[optind], ":") != 0; // a `:` after a `--` is ambiguous
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct sbatch_words wanted;
    size_t argc = 0;
    if (!options[0].name) {
        add_options();
    }
    char *text = copy_text(data, size);
    char **argv = split(text, size, '\0', 64, &argc);
    const struct script_lookup lookup = {is_script, NULL};
    const struct sbatch_words words = sbatch_read_words(argc, argv, &lookup);
    MUST(words.script < argc);
    if (read_with_getopt((int)argc, argv, &wanted)) {
        MUST(words.script == wanted.script);
        MUST(!words.script || words.directory == wanted.directory);
    }
    free(argv);
    free(text);
    return 0;
}
