// SPDX-License-Identifier: Apache-2.0
#include "names.h"

#include <stdbool.h>
#include <string.h>

#define SHORTEST_TEXT 6
#define SHORTEST_WORD 4

// What every program has of its compiler and its C library.
static const char *const of_the_toolchain[] = {
    "_init",
    "_fini",
    "_start",
    "main",
    "__libc_csu_init",
    "__libc_csu_fini",
    "__do_global_dtors_aux",
    "deregister_tm_clones",
    "register_tm_clones",
    "frame_dummy",
    "_dl_relocate_static_pie",
    "__stack_chk_fail",
    "__stack_chk_fail_local",
    "__cxa_finalize",
    "__gmon_start__",
    "_ITM_deregisterTMCloneTable",
    "_ITM_registerTMCloneTable",
    "__libc_start_main",
    "atexit",
    "call_weak_fn",
    "_IO_stdin_used",
    "__dso_handle",
    "__TMC_END__",
    "stdin",
    "stdout",
    "stderr",
    "optarg",
    "optind",
    "opterr",
    "optopt",
    "environ",
    "__environ",
    "crtstuff",
    "Scrt1",
    "crt1",
    "crti",
    "crtn",
    "abi-note",
    "init",
};

static bool is_of_the_toolchain(const unsigned char *name, size_t size)
{
    for (size_t i = 0; i < sizeof of_the_toolchain / sizeof *of_the_toolchain; i++) {
        if (strlen(of_the_toolchain[i]) == size && memcmp(of_the_toolchain[i], name, size) == 0) {
            return true;
        }
    }
    return false;
}

// FNV-1a, of 64 bits.
static uint64_t number_of(const unsigned char *name, size_t size)
{
    uint64_t number = 0xCBF29CE484222325;
    for (size_t i = 0; i < size; i++) {
        number = (number ^ name[i]) * 0x100000001B3;
    }
    return number;
}

void names_add(struct lowest *numbers, const struct bytes *table, uint64_t start)
{
    if (start >= table->size) {
        return;
    }
    const unsigned char *name = table->at + start;
    const size_t room = table->size - (size_t)start;
    size_t size = 0;
    while (size < room && name[size] && name[size] != '@' && (name[size] != '.' || size == 0)) {
        size++;
    }
    if (size > 6 && memcmp(name, "__", 2) == 0 && memcmp(name + size - 4, "_chk", 4) == 0) {
        name += 2; // what _FORTIFY_SOURCE makes of a call
        size -= 6;
    } else if (size > 9 && memcmp(name, "__isoc", 6) == 0 && name[8] == '_') {
        name += 9; // and a choice of the C standard
        size -= 9;
    }
    const uint64_t number = number_of(name, size);
    if (size > 0 && number < numbers->beyond && !is_of_the_toolchain(name, size)) {
        lowest_add(numbers, number);
    }
}

static bool is_letter(unsigned char byte)
{
    return (byte >= 'A' && byte <= 'Z') || (byte >= 'a' && byte <= 'z') || byte == '_';
}

static bool is_text(unsigned char byte)
{
    return (byte >= ' ' && byte <= '~') || byte == '\t' || byte == '\n' || byte == '\r';
}

// CRC-32, as zlib has it.
static void make_remainders(uint32_t remainders[256])
{
    for (uint32_t byte = 0; byte < 256; byte++) {
        uint32_t value = byte;
        for (int bit = 0; bit < 8; bit++) {
            value = (value >> 1) ^ (value & 1 ? 0xEDB88320 : 0);
        }
        remainders[byte] = value;
    }
}

static uint32_t checksum(const uint32_t remainders[256], const unsigned char *bytes, size_t size)
{
    uint32_t value = UINT32_MAX;
    for (size_t i = 0; i < size; i++) {
        value = (value >> 8) ^ remainders[(value ^ bytes[i]) & 255];
    }
    return ~value;
}

static void add_words_of(struct lowest *numbers, const uint32_t remainders[256], const unsigned char *text, size_t size)
{
    size_t begin = 0;
    for (size_t end = 0; end <= size; end++) {
        if (end < size && is_letter(text[end])) {
            continue;
        }
        if (end - begin >= SHORTEST_WORD) {
            lowest_add(numbers, checksum(remainders, text + begin, end - begin));
        }
        begin = end + 1;
    }
}

void names_add_words(struct lowest *numbers, const struct bytes *bytes)
{
    uint32_t remainders[256];
    size_t begin = 0;
    make_remainders(remainders);
    for (size_t end = 0; end < bytes->size; end++) {
        if (is_text(bytes->at[end])) {
            continue;
        }
        if (bytes->at[end] == '\0' && end - begin >= SHORTEST_TEXT) {
            add_words_of(numbers, remainders, bytes->at + begin, end - begin);
        }
        begin = end + 1;
    }
}
