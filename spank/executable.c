// SPDX-License-Identifier: Apache-2.0
#include "executable.h"

#include <elf.h>
#include <stdlib.h>
#include <string.h>

#include "names.h"

#define SECTIONS 4096u           // maximum number of sections read; executables have about 40
#define SECTION_NAMES (1u << 16) // maximum number of bytes read from the table of section names
#define SYMBOL_BYTES (12u << 20) // maximum number of bytes read from a symbol table, enough for 520,000 symbols
#define NAME_BYTES (16u << 20)   // maximum number of bytes read from a table of symbol names
#define TEXT_BYTES (1u << 19)    // maximum number of bytes read from the section of constants
#define NOTE_BYTES 4096u         // maximum number of bytes read from a section of notes; the build-id comes first
#define NEEDED 1024u             // maximum number of entries read from the dynamic section
#define NOTE_HEADER (3 * 4 + 4)  // bytes; a note begins with two sizes, its type, and the name "GNU"

struct section {
    uint32_t name;
    uint32_t kind;
    uint64_t start;
    uint64_t size;
    uint32_t link;
};

struct image {
    struct bounded_file *file;
    bool wide;
    bool big; // the file is big-endian
    struct section *sections;
    size_t count;
    struct bytes section_names;
};

// Return the unsigned number in the `width` bytes at `at`, in the byte order of the file.
static uint64_t number(const struct image *image, const unsigned char *at, size_t width)
{
    uint64_t value = 0;
    for (size_t i = 0; i < width; i++) {
        value |= (uint64_t)at[image->big ? width - 1 - i : i] << (8 * i);
    }
    return value;
}

static uint64_t word(const struct image *image, const unsigned char *at)
{
    return number(image, at, image->wide ? 8 : 4);
}

static int read_some(const struct image *image, const struct section *section, uint64_t limit, struct bytes *bytes)
{
    return bounded_file_read(image->file, section->start, section->size < limit ? section->size : limit, bytes);
}

bool executable_begins(const struct bytes *bytes)
{
    return bytes->size >= SELFMAG && memcmp(bytes->at, ELFMAG, SELFMAG) == 0;
}

// True if the header has a valid class and byte order, and contains all fields that this file reads.
static bool is_header(const struct bytes *header)
{
    if (header->size < sizeof(Elf32_Ehdr)) {
        return false;
    }
    const unsigned char class = header->at[EI_CLASS];
    const unsigned char order = header->at[EI_DATA];
    return (class == ELFCLASS32 || (class == ELFCLASS64 && header->size >= sizeof(Elf64_Ehdr))) &&
           (order == ELFDATA2LSB || order == ELFDATA2MSB);
}

static struct section section_at(const struct image *image, const unsigned char *at)
{
    return (struct section){
        .name = (uint32_t)number(image, at, 4),
        .kind = (uint32_t)number(image, at + 4, 4),
        .start = word(image, at + (image->wide ? 24 : 16)),
        .size = word(image, at + (image->wide ? 32 : 20)),
        .link = (uint32_t)number(image, at + (image->wide ? 40 : 24), 4),
    };
}

// Read the section headers and the section names. Reads nothing if the headers do not have the expected size.
static int read_sections(struct image *image, const unsigned char *header)
{
    const unsigned char *numbers = header + (image->wide ? 58 : 46);
    const size_t size = image->wide ? sizeof(Elf64_Shdr) : sizeof(Elf32_Shdr);
    const uint64_t count = number(image, numbers + 2, 2);
    const uint64_t names = number(image, numbers + 4, 2);
    struct bytes table = {0};
    if (number(image, numbers, 2) != size) {
        return 0;
    }
    if (bounded_file_read(image->file, word(image, header + (image->wide ? 40 : 32)),
                          (count < SECTIONS ? count : SECTIONS) * size, &table)) {
        return -1;
    }
    image->sections = calloc(table.size / size + 1, sizeof *image->sections);
    for (size_t i = 0; image->sections && i < table.size / size; i++) {
        image->sections[image->count++] = section_at(image, table.at + i * size);
    }
    free(table.at);
    if (!image->sections) {
        return -1;
    }
    return names < image->count ? read_some(image, &image->sections[names], SECTION_NAMES, &image->section_names) : 0;
}

static const struct section *of_kind(const struct image *image, uint32_t kind)
{
    for (size_t i = 0; i < image->count; i++) {
        if (image->sections[i].kind == kind) {
            return &image->sections[i];
        }
    }
    return NULL;
}

static const struct section *of_name(const struct image *image, const char *name)
{
    const size_t size = strlen(name) + 1;
    for (size_t i = 0; i < image->count; i++) {
        const size_t start = image->sections[i].name;
        if (start < image->section_names.size && image->section_names.size - start >= size &&
            memcmp(image->section_names.at + start, name, size) == 0) {
            return &image->sections[i];
        }
    }
    return NULL;
}

// Read a table, and the table of names that its entries refer to. Both are empty if the file has no such table. Returns
// 0 or -1.
static int read_table(const struct image *image, uint32_t kind, uint64_t limit, struct bytes *table,
                      struct bytes *names)
{
    const struct section *section = of_kind(image, kind);
    *table = *names = (struct bytes){0};
    if (!section || section->link >= image->count) {
        return 0;
    }
    return read_some(image, section, limit, table) ||
                   read_some(image, &image->sections[section->link], NAME_BYTES, names)
               ? -1
               : 0;
}

// True for a symbol that every compiler keeps: a global function or variable that the file defines, or the name of a
// source file.
static bool is_own(const struct image *image, const unsigned char *symbol)
{
    const unsigned char info = symbol[image->wide ? 4 : 12];
    const bool defined = number(image, symbol + (image->wide ? 6 : 14), 2) != SHN_UNDEF;
    switch (ELF64_ST_TYPE(info)) {
    case STT_FILE:
        return true;
    case STT_OBJECT:
    case STT_FUNC:
    case STT_GNU_IFUNC:
        return defined && ELF64_ST_BIND(info) == STB_GLOBAL;
    default:
        return false;
    }
}

static int read_symbols(const struct image *image, uint32_t kind, bool own_only, struct lowest *numbers)
{
    const size_t size = image->wide ? sizeof(Elf64_Sym) : sizeof(Elf32_Sym);
    struct bytes table, names;
    const int result = read_table(image, kind, SYMBOL_BYTES, &table, &names);
    for (size_t at = 0; result == 0 && table.size - at >= size; at += size) {
        const unsigned char *symbol = table.at + at;
        if (!own_only || is_own(image, symbol)) {
            names_add(numbers, &names, number(image, symbol, 4));
        }
    }
    free(table.at);
    free(names.at);
    return result;
}

// Keep the name of a needed library if it is the first one that begins with `libmpi` and looks like a library's name.
static void keep_mpi_library(const struct bytes *names, uint64_t start, char found[MPI_LIBRARY_MAX + 1])
{
    static const char letters[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_+.-";
    if (found[0] || start >= names->size) {
        return;
    }
    const size_t room = names->size - start;
    char name[MPI_LIBRARY_MAX + 2] = ""; // one character too many shows that a name is too long
    memcpy(name, names->at + start, room < sizeof name - 1 ? room : sizeof name - 1);
    const size_t length = strlen(name);
    if (length <= MPI_LIBRARY_MAX && strncmp(name, "libmpi", 6) == 0 && strstr(name, ".so") &&
        strspn(name, letters) == length) {
        memcpy(found, name, length + 1);
    }
}

static int read_libraries(const struct image *image, struct executable *executable)
{
    const size_t width = image->wide ? 8 : 4;
    struct bytes table, names;
    const int result = read_table(image, SHT_DYNAMIC, NEEDED * 2 * width, &table, &names);
    for (size_t at = 0; result == 0 && table.size - at >= 2 * width; at += 2 * width) {
        if (word(image, table.at + at) == DT_NEEDED) {
            const uint64_t name = word(image, table.at + at + width);
            names_add(&executable->imports, &names, name);
            keep_mpi_library(&names, name, executable->mpi_library);
        }
    }
    if (result == 0) {
        own_runtime_sanitizer(&names, executable->runtime);
    }
    free(table.at);
    free(names.at);
    return result;
}

static bool put_build_id(const struct image *image, const struct bytes *notes, char *build_id)
{
    static const char digits[] = "0123456789abcdef";
    if (notes->size < NOTE_HEADER) {
        return false;
    }
    const uint64_t size = number(image, notes->at + 4, 4);
    if (number(image, notes->at, 4) != 4 || number(image, notes->at + 8, 4) != NT_GNU_BUILD_ID || size < 8 ||
        size > BUILD_ID_MAX || memcmp(notes->at + 12, ELF_NOTE_GNU, 4) != 0) {
        return false;
    }
    for (size_t i = 0; i < size && NOTE_HEADER + i < notes->size; i++) {
        *build_id++ = digits[notes->at[NOTE_HEADER + i] >> 4];
        *build_id++ = digits[notes->at[NOTE_HEADER + i] & 15];
    }
    return true;
}

static int read_build_id(const struct image *image, char *build_id)
{
    bool found = false;
    for (size_t i = 0; !found && i < image->count; i++) {
        struct bytes notes = {0};
        if (image->sections[i].kind != SHT_NOTE) {
            continue;
        }
        if (read_some(image, &image->sections[i], NOTE_BYTES, &notes)) {
            return -1;
        }
        found = put_build_id(image, &notes, build_id);
        free(notes.at);
    }
    return 0;
}

// Write the path of the program's loader to `runtime` if it is not the system's loader. The path then replaces the name
// of a sanitizer that was found before.
static int read_loader(const struct image *image, char runtime[RUNTIME_MAX + 1])
{
    const struct section *section = of_name(image, ".interp");
    struct bytes path = {0};
    char own[RUNTIME_MAX + 1];
    if (!section) {
        return 0;
    }
    if (read_some(image, section, RUNTIME_MAX, &path)) {
        return -1;
    }
    own_runtime_loader(&path, own);
    if (*own) {
        memcpy(runtime, own, sizeof own);
    }
    free(path.at);
    return 0;
}

static int read_words(const struct image *image, struct lowest *numbers)
{
    const struct section *constants = of_name(image, ".rodata");
    struct bytes text = {0};
    if (!constants) {
        return 0;
    }
    if (read_some(image, constants, TEXT_BYTES, &text)) {
        return -1;
    }
    names_add_words(numbers, &text);
    free(text.at);
    return 0;
}

int executable_read(struct executable *executable, struct bounded_file *file)
{
    struct image image = {.file = file};
    struct bytes header = {0};
    int result = -1;
    *executable = (struct executable){0};
    if (lowest_begin(&executable->names) || lowest_begin(&executable->imports) || lowest_begin(&executable->words) ||
        bounded_file_read(file, 0, sizeof(Elf64_Ehdr), &header) || !is_header(&header)) {
        goto done;
    }
    image.wide = header.at[EI_CLASS] == ELFCLASS64;
    image.big = header.at[EI_DATA] == ELFDATA2MSB;
    result = read_sections(&image, header.at) || read_symbols(&image, SHT_DYNSYM, false, &executable->imports) ||
                     read_libraries(&image, executable) || read_build_id(&image, executable->build_id) ||
                     read_loader(&image, executable->runtime) || read_words(&image, &executable->words)
                 ? -1
                 : 0;
    if (result == 0) {
        // These names come last, because those of a large program may exceed the limit, and are then omitted.
        read_symbols(&image, SHT_SYMTAB, true, &executable->names);
        names_leave_out_common(&executable->names);
        names_leave_out_common(&executable->imports);
    }
done:
    free(header.at);
    free(image.sections);
    free(image.section_names.at);
    return result;
}

void executable_free(struct executable *executable)
{
    lowest_free(&executable->names);
    lowest_free(&executable->imports);
    lowest_free(&executable->words);
}
