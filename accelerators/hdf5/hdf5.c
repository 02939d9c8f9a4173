// SPDX-License-Identifier: Apache-2.0
// A library for LD_PRELOAD that sets HDF5's parameters, from environment variables, for the files that a program
// creates and opens. Programs can set these parameters in their code but rarely do. A parameter that the program has
// set itself stays unchanged.
//
//   REPRISE_HDF5_ALIGNMENT      bytes; large objects begin at a multiple of this number
//   REPRISE_HDF5_THRESHOLD      bytes; size from which an object is large (default 65536)
//   REPRISE_HDF5_META_BLOCK     bytes; size of a metadata block
//   REPRISE_HDF5_SIEVE_BUFFER   bytes; size of the buffer for reading and writing small pieces of a dataset
//   REPRISE_HDF5_METADATA_WRITE `collective` makes all ranks write metadata together
//
// This library neither includes HDF5's headers nor is linked with HDF5: it looks up symbols in the program's HDF5
// library, with or without MPI. The types are those of HDF5 1.10 and later; with older releases this library does
// nothing. A setting that cannot be applied is ignored, so a call fails only if it would have failed anyway.
#define _GNU_SOURCE
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "lookup.h"

typedef int64_t hid_t;
typedef int herr_t;
typedef unsigned long long hsize_t;

#define EXPORT __attribute__((visibility("default")))
#define FIRST_MINOR 10 // HDF5 1.10, the first release whose identifiers have 64 bits
#define BYTES_MAX (1ULL << 40)

// HDF5's defaults, which every new property list has. If a list has a different value, the program has set it.
#define ALIGNMENT_DEFAULT 1
#define META_BLOCK_DEFAULT 2048
#define SIEVE_BUFFER_DEFAULT 65536
#define THRESHOLD_DEFAULT 65536

static int is_library(const char *path)
{
    return strstr(path, "/libhdf5") != NULL;
}

static void *real(const char *name)
{
    return lookup(RTLD_NEXT, name);
}

// Return the number of bytes that a variable specifies; 0 if the variable is unset or invalid.
static hsize_t number(const char *name)
{
    const char *text = getenv(name);
    hsize_t value = 0;

    if (!text || !*text || text[strspn(text, "0123456789")] != '\0')
        return 0;
    for (; *text; text++) {
        value = value * 10 + (hsize_t)(*text - '0');
        if (value > BYTES_MAX)
            return 0;
    }
    return value;
}

static int is_known(void)
{
    herr_t (*get_version)(unsigned *, unsigned *, unsigned *) = real("H5get_libversion");
    unsigned major = 0;
    unsigned minor = 0;
    unsigned release = 0;

    return get_version && get_version(&major, &minor, &release) >= 0 && (major > 1 || minor >= FIRST_MINOR);
}

static void align(hid_t list)
{
    herr_t (*get)(hid_t, hsize_t *, hsize_t *) = real("H5Pget_alignment");
    herr_t (*set)(hid_t, hsize_t, hsize_t) = real("H5Pset_alignment");
    hsize_t wanted = number("REPRISE_HDF5_ALIGNMENT");
    hsize_t threshold = number("REPRISE_HDF5_THRESHOLD");
    hsize_t now = 0;
    hsize_t from = 0;

    if (wanted && get && set && get(list, &from, &now) >= 0 && now == ALIGNMENT_DEFAULT)
        set(list, threshold ? threshold : THRESHOLD_DEFAULT, wanted);
}

static void enlarge_meta_block(hid_t list)
{
    herr_t (*get)(hid_t, hsize_t *) = real("H5Pget_meta_block_size");
    herr_t (*set)(hid_t, hsize_t) = real("H5Pset_meta_block_size");
    hsize_t wanted = number("REPRISE_HDF5_META_BLOCK");
    hsize_t now = 0;

    if (wanted && get && set && get(list, &now) >= 0 && now == META_BLOCK_DEFAULT)
        set(list, wanted);
}

static void enlarge_sieve_buffer(hid_t list)
{
    herr_t (*get)(hid_t, size_t *) = real("H5Pget_sieve_buf_size");
    herr_t (*set)(hid_t, size_t) = real("H5Pset_sieve_buf_size");
    hsize_t wanted = number("REPRISE_HDF5_SIEVE_BUFFER");
    size_t now = 0;

    if (wanted && get && set && get(list, &now) >= 0 && now == SIEVE_BUFFER_DEFAULT)
        set(list, (size_t)wanted);
}

// Make all ranks write metadata together. Reads stay independent: with collective metadata reads, a rank that reads
// metadata alone would wait forever.
static void write_metadata_together(hid_t list)
{
    herr_t (*get)(hid_t, unsigned char *) = real("H5Pget_coll_metadata_write");
    herr_t (*set)(hid_t, unsigned char) = real("H5Pset_coll_metadata_write");
    herr_t (*get_communicator)(hid_t, void *, void *) = real("H5Pget_fapl_mpio");
    hid_t (*get_driver)(hid_t) = real("H5Pget_driver");
    hid_t (*mpio)(void) = real("H5FD_mpio_init");
    const char *wanted = getenv("REPRISE_HDF5_METADATA_WRITE");
    unsigned char now = 1;

    if (wanted && strcmp(wanted, "collective") == 0 && get && set && get_communicator && get_driver && mpio &&
        get_driver(list) == mpio() && get(list, &now) >= 0 && !now)
        set(list, 1);
}

static int is_wanted(void)
{
    return number("REPRISE_HDF5_ALIGNMENT") || number("REPRISE_HDF5_META_BLOCK") ||
           number("REPRISE_HDF5_SIEVE_BUFFER") || getenv("REPRISE_HDF5_METADATA_WRITE");
}

// Return a copy of a property list (0: H5P_DEFAULT) with the requested settings; -1 if no setting is requested, or on
// failure.
static hid_t tuned(hid_t list)
{
    herr_t (*begin)(void) = real("H5open");
    hid_t (*copy)(hid_t) = real("H5Pcopy");
    hid_t (*create)(hid_t) = real("H5Pcreate");
    const hid_t *class = lookup(RTLD_DEFAULT, "H5P_CLS_FILE_ACCESS_ID_g");

    if (!is_wanted() || !begin || !copy || !create || !class || !is_known() || begin() < 0)
        return -1;
    hid_t made = list ? copy(list) : create(*class);
    if (made >= 0) {
        align(made);
        enlarge_meta_block(made);
        enlarge_sieve_buffer(made);
        write_metadata_together(made);
    }
    return made;
}

static void drop(hid_t list)
{
    herr_t (*end)(hid_t) = real("H5Pclose");

    if (list >= 0 && end)
        end(list);
}

EXPORT hid_t H5Fcreate(const char *name, unsigned flags, hid_t creation, hid_t access);
EXPORT hid_t H5Fopen(const char *name, unsigned flags, hid_t access);

hid_t H5Fcreate(const char *name, unsigned flags, hid_t creation, hid_t access)
{
    hid_t (*create)(const char *, unsigned, hid_t, hid_t) = real("H5Fcreate");
    if (!create)
        return -1;
    hid_t list = tuned(access);
    hid_t file = create(name, flags, creation, list >= 0 ? list : access);
    drop(list);
    return file;
}

hid_t H5Fopen(const char *name, unsigned flags, hid_t access)
{
    hid_t (*open)(const char *, unsigned, hid_t) = real("H5Fopen");
    if (!open)
        return -1;
    hid_t list = tuned(access);
    hid_t file = open(name, flags, list >= 0 ? list : access);
    drop(list);
    return file;
}
