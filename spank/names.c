// SPDX-License-Identifier: Apache-2.0
#include "names.h"

#include <stdbool.h>
#include <string.h>

#define SHORTEST_TEXT 6  // minimum number of characters of a text whose words are used
#define SHORTEST_WORD 4  // minimum number of letters of a word that is used
#define LONGEST_NAME 512 // maximum number of bytes hashed, because in a hostile file a name may never end

// Names that every program gets from its compiler and its C library; at most SKETCH_LEFT_OUT names.
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

// Continue a 64-bit FNV-1a hash with one byte.
static uint64_t continued(uint64_t number, unsigned char byte)
{
    return (number ^ byte) * 0x100000001B3;
}

static const uint64_t begun = 0xCBF29CE484222325;

// Hash a name without its version (from `@` on) and without the suffix that a compiler added (from a dot on). Read the
// name only once, because a large program has megabytes of names.
void names_add(struct lowest *numbers, const struct bytes *table, uint64_t start)
{
    static const bool ends[256] = {['\0'] = true, ['@'] = true, ['.'] = true};
    if (start >= table->size) {
        return;
    }
    const unsigned char *name = table->at + start;
    const size_t left = table->size - (size_t)start;
    const size_t room = left < LONGEST_NAME ? left : LONGEST_NAME;
    uint64_t number = begun;
    size_t size = 0;
    while (size < room && (!ends[name[size]] || (size == 0 && *name == '.'))) {
        number = continued(number, name[size++]);
    }
    size_t left_out = 0;
    size_t end = size;
    if (size > 6 && memcmp(name, "__", 2) == 0 && memcmp(name + size - 4, "_chk", 4) == 0) {
        left_out = 2; // _FORTIFY_SOURCE has renamed the function
        end -= 4;
    } else if (size > 9 && memcmp(name, "__isoc", 6) == 0 && name[8] == '_') {
        left_out = 9; // the choice of a C standard has renamed the function
    }
    if (left_out > 0) {
        number = begun;
        for (size_t i = left_out; i < end; i++) {
            number = continued(number, name[i]);
        }
    }
    if (end > left_out) {
        lowest_add(numbers, number);
    }
}

void names_leave_out_common(struct lowest *numbers)
{
    uint64_t common[sizeof of_the_toolchain / sizeof *of_the_toolchain];
    for (size_t i = 0; i < sizeof common / sizeof *common; i++) {
        common[i] = begun;
        for (const char *byte = of_the_toolchain[i]; *byte; byte++) {
            common[i] = continued(common[i], (unsigned char)*byte);
        }
    }
    lowest_leave_out(numbers, common, sizeof common / sizeof *common);
}

static bool is_letter(unsigned char byte)
{
    return (byte >= 'A' && byte <= 'Z') || (byte >= 'a' && byte <= 'z') || byte == '_';
}

static bool is_text(unsigned char byte)
{
    return (byte >= ' ' && byte <= '~') || byte == '\t' || byte == '\n' || byte == '\r';
}

// Fill the lookup table for CRC-32 as zlib computes it.
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
