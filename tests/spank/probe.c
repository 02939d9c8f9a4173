// SPDX-License-Identifier: Apache-2.0
// Runs the plugin's pure functions as a filter: for each line `FUNCTION HEX` of input, prints a line of JSON, or - if
// the function refuses the bytes.
#include <ctype.h>
#include <json-c/json.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../../spank/allowlist.h"
#include "../../spank/decision.h"
#include "../../spank/envelope.h"
#include "../../spank/identity.h"
#include "../../spank/json.h"
#include "../../spank/jwt.h"
#include "../../spank/message.h"
#include "../../spank/sbatch_options.h"

static size_t from_hex(const char *hex, char *bytes)
{
    size_t size = 0;
    while (isxdigit((unsigned char)hex[0]) && isxdigit((unsigned char)hex[1])) {
        char digits[] = {hex[0], hex[1], '\0'};
        bytes[size++] = (char)strtoul(digits, NULL, 16);
        hex += 2;
    }
    return size;
}

static void print(struct json_object *value)
{
    puts(json_object_to_json_string_ext(value, JSON_C_TO_STRING_PLAIN));
    json_object_put(value);
}

static void print_decision(const struct decision *decision)
{
    struct json_object *env = json_object_new_object();
    for (size_t i = 0; i < decision->count; i++) {
        json_object_object_add(env, decision->variables[i].name, json_object_new_string(decision->variables[i].value));
    }
    struct json_object *value = json_object_new_object();
    json_object_object_add(value, "id", *decision->id ? json_object_new_string(decision->id) : NULL);
    json_object_object_add(value, "verdict", json_object_new_string(verdict_word(decision->verdict)));
    json_object_object_add(value, "env", env);
    print(value);
}

static void probe_decision(const char *bytes, size_t size, int (*read)(struct decision *, const char *, size_t))
{
    struct decision decision = {0};
    if (read(&decision, bytes, size)) {
        puts("-");
        return;
    }
    char *carried = decision_to_carried(&decision);
    struct decision again = {0};
    if (decision.verdict != VERDICT_DEFER && (!carried || decision_from_carried(&again, carried, strlen(carried)))) {
        puts("lost on the way");
    } else {
        print_decision(decision.verdict == VERDICT_DEFER ? &decision : &again);
    }
    free(carried);
    decision_free(&again);
    decision_free(&decision);
}

// Replaces a check of the file system: names that end in `.sh` count as scripts.
static bool is_named_script(const void *context, const char *word, const char *directory)
{
    (void)context;
    (void)directory;
    const size_t length = strlen(word);
    return length > 3 && strcmp(word + length - 3, ".sh") == 0;
}

// Parses an sbatch command line whose arguments are separated by newlines.
static void probe_words(char *bytes, size_t size)
{
    char *argv[64];
    size_t argc = 0;
    bytes[size] = '\0';
    for (char *word = strtok(bytes, "\n"); word && argc < 64; word = strtok(NULL, "\n")) {
        argv[argc++] = word;
    }
    const struct script_lookup lookup = {is_named_script, NULL};
    struct sbatch_words words = sbatch_read_words(argc, argv, &lookup);
    struct json_object *value = json_object_new_array();
    json_object_array_add(value, json_object_new_int64((int64_t)words.script));
    json_object_array_add(value, words.directory ? json_object_new_string(words.directory) : NULL);
    print(value);
}

static void probe_text(const char *bytes, size_t size)
{
    bool cut = false;
    struct json_object *text = json_text_cut(bytes, size, SCRIPT_MAX, &cut);
    struct json_object *value = json_object_new_array();
    json_object_array_add(value, text);
    json_object_array_add(value, json_object_new_boolean(cut));
    print(value);
}

// Opens an envelope, which follows the request's nonce in `bytes`.
static void probe_envelope(const char *bytes, size_t size)
{
    size_t text_size = 0;
    const char *text = envelope_text((const unsigned char *)bytes, bytes + NONCE_SIZE, size - NONCE_SIZE, &text_size);
    if (!text) {
        puts("-");
        return;
    }
    print(json_object_new_string_len(text, (int)text_size));
}

static void probe_asking(const char *bytes, size_t size)
{
    char *path = message_asks_about(bytes, size);
    if (!path) {
        puts("-");
        return;
    }
    print(json_object_new_string(path));
    free(path);
}

// Prints the parts of the identity of the file at `path`, with the size of its text if it is a script.
static void probe_identity(char *path, size_t size)
{
    struct bounded_file file;
    struct identity identity;
    path[size] = '\0';
    if (bounded_file_open(&file, path)) {
        puts("-");
        return;
    }
    if (identity_read(&identity, &file)) {
        puts("-");
    } else {
        struct json_object *value = json_object_new_array();
        json_object_array_add(value, json_object_new_string(identity.build_id));
        json_object_array_add(value, json_object_new_string(identity.functions));
        json_object_array_add(value, json_object_new_string(identity.imports));
        json_object_array_add(value, json_object_new_string(identity.contents));
        json_object_array_add(value, json_object_new_string(identity.runtime));
        json_object_array_add(value, json_object_new_string(identity.mpi_library));
        json_object_array_add(value, json_object_new_int64((int64_t)identity.script.size));
        print(value);
    }
    identity_free(&identity);
    bounded_file_close(&file);
}

// Prints the parts of a Slurm token: its author's and its reader's user id, and its payload as hexadecimal digits.
static void probe_jwt(char *bytes, size_t size)
{
    struct claims claims = {0};
    bytes[size] = '\0';
    if (strlen(bytes) != size || jwt_read(bytes, &claims)) {
        puts("-");
        return;
    }
    printf("[%u, %u, \"", (unsigned)claims.author, (unsigned)claims.reader);
    for (size_t i = 0; i < claims.payload_size; i++) {
        printf("%02x", (unsigned char)claims.payload[i]);
    }
    puts("\"]");
    free(claims.payload);
}

int main(void)
{
    char *line = NULL;
    size_t capacity = 0;
    while (getline(&line, &capacity, stdin) > 0) {
        char *hex = strchr(line, ' ');
        char *bytes = malloc(strlen(line) + 1);
        if (!hex || !bytes) {
            return 2;
        }
        *hex++ = '\0';
        size_t size = from_hex(hex, bytes);
        if (strcmp(line, "reply") == 0) {
            probe_decision(bytes, size, decision_from_reply);
        } else if (strcmp(line, "carried") == 0) {
            probe_decision(bytes, size, decision_from_carried);
        } else if (strcmp(line, "words") == 0) {
            probe_words(bytes, size);
        } else if (strcmp(line, "envelope") == 0) {
            probe_envelope(bytes, size);
        } else if (strcmp(line, "text") == 0) {
            probe_text(bytes, size);
        } else if (strcmp(line, "asks") == 0) {
            probe_asking(bytes, size);
        } else if (strcmp(line, "jwt") == 0) {
            probe_jwt(bytes, size);
        } else if (strcmp(line, "identity") == 0) {
            probe_identity(bytes, size);
        } else {
            puts(allowlist_has(bytes, size) ? "true" : "false");
        }
        free(bytes);
    }
    free(line);
    return 0;
}
