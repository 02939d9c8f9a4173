// SPDX-License-Identifier: Apache-2.0
// Reports which hints of MPI-IO are in effect in a trial's application. REPRISE_WITNESS names a report file. For each
// file that a process opens as rank 0 of a communicator, a line of JSON is appended to the report file:
//
//   {"file": "out", "ranks": 4, "program": {"cb_nodes": "2"}, "hints": {"cb_nodes": "2", ...}, "settings": {...}}
//
// `program` contains the hints that the program sets (PnetCDF and HDF5 use the same call). `hints` contains the hints
// that ROMIO reports as in effect, or null if the implementation of MPI-IO is not ROMIO and reports nothing. `settings`
// contains the settings of Open MPI whose names REPRISE_WITNESS_SETTINGS lists, separated by commas.
//
// Open MPI 4.1's MPI_File_get_info only returns the hints that the program set, so ROMIO is made to print its hints
// (ROMIO_PRINT_HINTS), and standard output is captured while a file is opened. Other output that the process writes
// during this time is passed on afterwards.
#define _GNU_SOURCE
#include "hints.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "mpi_next.h"

enum {
    LINES_MAX = 64, // maximum number of lines written per process; further files would add little information
    TEXT_BYTES = 65536,
    VALUE_BYTES = 4096,
    NAME_BYTES = 256,
};

// A line of JSON that is being built. If the text gets too long, the line is not written.
struct line {
    char text[TEXT_BYTES];
    size_t length;
    int is_full;
};

static int lines; // number of lines written; two threads that open files at the same time may exceed LINES_MAX by one

static void put(struct line *line, const char *text, size_t length)
{
    if (line->is_full || line->length + length >= sizeof(line->text)) {
        line->is_full = 1;
        return;
    }
    memcpy(line->text + line->length, text, length);
    line->length += length;
}

static void put_words(struct line *line, const char *text)
{
    put(line, text, strlen(text));
}

static void put_string(struct line *line, const char *text, size_t length)
{
    char code[8];

    put_words(line, "\"");
    for (size_t i = 0; i < length; i++) {
        unsigned char c = (unsigned char)text[i];
        if (c == '"' || c == '\\' || c < 0x20 || c >= 0x7f) { // bytes above 127 are interpreted as Latin-1
            snprintf(code, sizeof(code), "\\u%04x", c);
            put_words(line, code);
        } else {
            put(line, text + i, 1);
        }
    }
    put_words(line, "\"");
}

static void put_pair(struct line *line, int *count, const char *name, size_t name_length, const char *value,
                     size_t value_length)
{
    put_words(line, (*count)++ ? ", " : "");
    put_string(line, name, name_length);
    put_words(line, ": ");
    put_string(line, value, value_length);
}

static void put_info(struct line *line, MPI_Info info)
{
    __typeof__(&MPI_Info_get_nkeys) get_count = NEXT(PMPI_Info_get_nkeys);
    __typeof__(&MPI_Info_get_nthkey) get_name = NEXT(PMPI_Info_get_nthkey);
    __typeof__(&MPI_Info_get) get_value = NEXT(PMPI_Info_get);
    int count = 0;
    int said = 0;

    put_words(line, "{");
    if (info != CONSTANT(MPI_Info, ompi_mpi_info_null, MPI_INFO_NULL) && get_count && get_name && get_value &&
        get_count(info, &count) == MPI_SUCCESS) {
        for (int i = 0; i < count; i++) {
            char name[MPI_MAX_INFO_KEY + 1] = "";
            char value[VALUE_BYTES + 1] = "";
            int is_there = 0;
            if (get_name(info, i, name) == MPI_SUCCESS &&
                get_value(info, name, VALUE_BYTES, value, &is_there) == MPI_SUCCESS && is_there)
                put_pair(line, &said, name, strlen(name), value, strlen(value));
        }
    }
    put_words(line, "}");
}

// Add the hints in ROMIO's lines `key = NAME value = VALUE` to `line` as a JSON object, or null if there are no such
// lines. Write all other lines to the descriptor `others`.
static void put_hints(struct line *line, const char *text, int others)
{
    int said = 0;
    size_t before = line->length;

    put_words(line, "{");
    while (*text) {
        size_t length = strcspn(text, "\n") + (strchr(text, '\n') ? 1 : 0);
        char name[NAME_BYTES];
        char value[VALUE_BYTES];
        char one[NAME_BYTES + VALUE_BYTES];
        snprintf(one, sizeof(one), "%.*s", (int)length, text);
        int found = sscanf(one, "key = %255s value = %1023s", name, value);
        if (found == 2)
            put_pair(line, &said, name, strlen(name), value, strlen(value));
        else if (write(others, text, length) < 0)
            errno = 0; // the program's output cannot be written; the program will get the same error
        text += length;
    }
    put_words(line, "}");
    if (!said) {
        line->length = before;
        put_words(line, "null");
    }
}

// Read one of Open MPI's settings. Returns 0, or -1 if no setting has this name or the setting cannot be read.
static int get_setting(const char *name, char value[VALUE_BYTES])
{
    __typeof__(&MPI_T_cvar_get_index) get_index = NEXT(PMPI_T_cvar_get_index);
    __typeof__(&MPI_T_cvar_get_info) get_info = NEXT(PMPI_T_cvar_get_info);
    __typeof__(&MPI_T_cvar_handle_alloc) take = NEXT(PMPI_T_cvar_handle_alloc);
    __typeof__(&MPI_T_cvar_handle_free) leave = NEXT(PMPI_T_cvar_handle_free);
    __typeof__(&MPI_T_cvar_read) get_value = NEXT(PMPI_T_cvar_read);
    const MPI_Datatype text = CONSTANT(MPI_Datatype, ompi_mpi_char, MPI_CHAR);
    int index, verbosity, bind, scope, values, none = 0, number = 0, status = -1;
    MPI_Datatype type;
    MPI_T_enum names;
    MPI_T_cvar_handle handle;

    if (!get_index || !get_info || !take || !leave || !get_value || get_index(name, &index) != MPI_SUCCESS ||
        get_info(index, NULL, &none, &verbosity, &type, &names, NULL, &none, &bind, &scope) != MPI_SUCCESS ||
        take(index, NULL, &handle, &values) != MPI_SUCCESS)
        return -1;
    if (type == text && values <= VALUE_BYTES) {
        status = get_value(handle, value) == MPI_SUCCESS ? 0 : -1;
    } else if (type == CONSTANT(MPI_Datatype, ompi_mpi_int, MPI_INT) && get_value(handle, &number) == MPI_SUCCESS) {
        snprintf(value, VALUE_BYTES, "%d", number);
        status = 0;
    }
    leave(&handle);
    return status;
}

// Write the names and values of some settings of Open MPI. `wanted` contains the names, separated by commas. Reading
// the settings takes a fifth of a second, because Open MPI opens all of its components to look up settings.
static void put_settings(struct line *line, const char *wanted)
{
    __typeof__(&MPI_T_init_thread) begin = NEXT(PMPI_T_init_thread);
    __typeof__(&MPI_T_finalize) end = NEXT(PMPI_T_finalize);
    int level;
    int said = 0;

    put_words(line, "{");
    if (wanted && *wanted && begin && end && begin(MPI_THREAD_SINGLE, &level) == MPI_SUCCESS) {
        while (*wanted) {
            char name[NAME_BYTES];
            char value[VALUE_BYTES] = "";
            size_t length = strcspn(wanted, ",");
            snprintf(name, sizeof(name), "%.*s", (int)length, wanted);
            if (get_setting(name, value) == 0)
                put_pair(line, &said, name, strlen(name), value, strlen(value));
            wanted += length + (wanted[length] == ',');
        }
        end();
    }
    put_words(line, "}");
}

static void write_line(const struct line *line, const char *path)
{
    int fd = line->is_full ? -1 : open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0666);

    if (fd < 0)
        return;
    if (write(fd, line->text, line->length) == (ssize_t)line->length)
        __atomic_add_fetch(&lines, 1, __ATOMIC_RELAXED);
    close(fd);
}

// Redirect standard output to a file in memory, and set `*before` to a copy of the old standard output. Returns the
// descriptor of the file in memory, or -1 on failure.
static int redirect(int *before)
{
    int room = (int)syscall(SYS_memfd_create, "witness", MFD_CLOEXEC);

    fflush(stdout);
    *before = fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, STDERR_FILENO + 1);
    if (room >= 0 && *before >= 0 && dup2(room, STDOUT_FILENO) >= 0)
        return room;
    if (room >= 0)
        close(room);
    if (*before >= 0)
        close(*before);
    return -1;
}

static void restore(int room, int before, char *text, size_t size)
{
    fflush(stdout);
    dup2(before, STDOUT_FILENO);
    ssize_t length = pread(room, text, size - 1, 0);
    text[length > 0 ? length : 0] = '\0';
    close(room);
}

static int is_watched(MPI_Comm comm, int *ranks)
{
    __typeof__(&MPI_Comm_rank) get_rank = NEXT(PMPI_Comm_rank);
    __typeof__(&MPI_Comm_size) get_size = NEXT(PMPI_Comm_size);
    int rank = -1;

    return __atomic_load_n(&lines, __ATOMIC_RELAXED) < LINES_MAX && get_rank && get_size &&
           get_rank(comm, &rank) == MPI_SUCCESS && rank == 0 && get_size(comm, ranks) == MPI_SUCCESS;
}

int hints_open(hints_opener *real, MPI_Comm comm, const char *name, int mode, MPI_Info info, MPI_File *file)
{
    const char *path = getenv("REPRISE_WITNESS");
    int ranks = 0;
    int before = -1;
    struct line *line = path && *path && mpi_is_ours() && is_watched(comm, &ranks) ? calloc(1, sizeof(*line)) : NULL;
    char *said = line ? calloc(1, TEXT_BYTES) : NULL;
    int room = said ? redirect(&before) : -1;
    int code = real(comm, name, mode, info, file);
    if (room >= 0)
        restore(room, before, said, TEXT_BYTES);
    if (room >= 0 && code == MPI_SUCCESS) {
        char number[16];
        snprintf(number, sizeof(number), "%d", ranks);
        put_words(line, "{\"file\": ");
        put_string(line, name, strlen(name));
        put_words(line, ", \"ranks\": ");
        put_words(line, number);
        put_words(line, ", \"program\": ");
        put_info(line, info);
        put_words(line, ", \"hints\": ");
        put_hints(line, said, before);
        put_words(line, ", \"settings\": ");
        put_settings(line, getenv("REPRISE_WITNESS_SETTINGS"));
        put_words(line, "}\n");
        write_line(line, path);
    } else if (room >= 0 && write(before, said, strlen(said)) < 0) {
        errno = 0;
    }
    if (room >= 0)
        close(before);
    free(said);
    free(line);
    return code;
}
