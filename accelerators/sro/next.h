// SPDX-License-Identifier: Apache-2.0
// The functions of libc that this library wraps, and the functions that its wrappers call: those of the next library in
// the search order that defines them, usually libc.
#ifndef SRO_NEXT_H
#define SRO_NEXT_H

#define FUNCTIONS(with)                                                                                                \
    with(read) with(__read) with(__read_chk) with(pread) with(pread64) with(__pread64) with(__pread_chk)               \
        with(__pread64_chk) with(readv) with(preadv) with(preadv64) with(preadv2) with(preadv64v2) with(fread)         \
            with(fread_unlocked) with(__fread_chk) with(__fread_unlocked_chk) with(fseek) with(fseeko) with(fseeko64)  \
                with(fsetpos) with(fsetpos64) with(lseek) with(lseek64) with(__lseek) with(close) with(__close)        \
                    with(dup2) with(__dup2) with(dup3) with(close_range) with(closefrom) with(fclose) with(freopen)    \
                        with(freopen64) with(unshare) with(setns)

#define NEXT_NUMBER(name) NEXT_##name,
enum next_function { FUNCTIONS(NEXT_NUMBER) NEXT_COUNT };

extern void *next_functions[NEXT_COUNT];

// Find the next definition of a function and cache it. Preserves errno.
void *next_find(enum next_function function);

// All functions are looked up when this library is loaded, but the constructor of another library may call a wrapper
// before that.
#define NEXT(name)                                                                                                     \
    ((__typeof__(&name))(next_functions[NEXT_##name] ? next_functions[NEXT_##name] : next_find(NEXT_##name)))

#define EXPORTED __attribute__((visibility("default")))

#endif
