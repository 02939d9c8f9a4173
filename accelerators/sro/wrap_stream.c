// SPDX-License-Identifier: Apache-2.0
// Wrappers of fread(), fseek() and their variants. The wrapper of read() does not see the reads of these functions,
// because libc does not call its public read() for them.
#define _GNU_SOURCE
#include <stdio.h>

#include "access.h"
#include "libc_names.h"
#include "next.h"

#undef fread_unlocked // libc's header also defines a macro when the compiler optimizes

#define FREAD(call)                                                                                                    \
    if (__builtin_expect(!access_is_due_fread(stream, size, count), 1)) {                                              \
        return call;                                                                                                   \
    }                                                                                                                  \
    struct access access;                                                                                              \
    access_begin(&access, stream->_fileno, stream->_offset);                                                           \
    const size_t got = call;                                                                                           \
    access_end_fread(&access, stream);                                                                                 \
    return got

#define FSEEK(call)                                                                                                    \
    if (__builtin_expect(!access_is_due(stream->_fileno), 1)) {                                                        \
        return call;                                                                                                   \
    }                                                                                                                  \
    struct access access;                                                                                              \
    const int64_t before = stream->_offset;                                                                            \
    access_begin_fseek(&access, stream);                                                                               \
    const int result = call;                                                                                           \
    access_end_fseek(&access, stream, before);                                                                         \
    return result

EXPORTED size_t fread(void *to, size_t size, size_t count, FILE *stream)
{
    FREAD(NEXT(fread)(to, size, count, stream));
}

EXPORTED size_t fread_unlocked(void *to, size_t size, size_t count, FILE *stream)
{
    FREAD(NEXT(fread_unlocked)(to, size, count, stream));
}

EXPORTED size_t __fread_chk(void *to, size_t room, size_t size, size_t count, FILE *stream)
{
    FREAD(NEXT(__fread_chk)(to, room, size, count, stream));
}

EXPORTED size_t __fread_unlocked_chk(void *to, size_t room, size_t size, size_t count, FILE *stream)
{
    FREAD(NEXT(__fread_unlocked_chk)(to, room, size, count, stream));
}

EXPORTED int fseek(FILE *stream, long offset, int whence)
{
    FSEEK(NEXT(fseek)(stream, offset, whence));
}

EXPORTED int fseeko(FILE *stream, off_t offset, int whence)
{
    FSEEK(NEXT(fseeko)(stream, offset, whence));
}

EXPORTED int fseeko64(FILE *stream, off64_t offset, int whence)
{
    FSEEK(NEXT(fseeko64)(stream, offset, whence));
}

EXPORTED int fsetpos(FILE *stream, const fpos_t *position)
{
    FSEEK(NEXT(fsetpos)(stream, position));
}

EXPORTED int fsetpos64(FILE *stream, const fpos64_t *position)
{
    FSEEK(NEXT(fsetpos64)(stream, position));
}
