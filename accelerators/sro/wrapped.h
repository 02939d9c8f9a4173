// SPDX-License-Identifier: Apache-2.0
// The functions of libc that this library wraps.
#ifndef SRO_WRAPPED_H
#define SRO_WRAPPED_H

#define FUNCTIONS(with)                                                                                                \
    with(read) with(__read) with(__read_chk) with(pread) with(pread64) with(__pread64) with(__pread_chk)               \
        with(__pread64_chk) with(readv) with(preadv) with(preadv64) with(preadv2) with(preadv64v2) with(fread)         \
            with(fread_unlocked) with(__fread_chk) with(__fread_unlocked_chk) with(fseek) with(fseeko) with(fseeko64)  \
                with(fsetpos) with(fsetpos64) with(lseek) with(lseek64) with(__lseek) with(close) with(__close)        \
                    with(dup2) with(__dup2) with(dup3) with(close_range) with(closefrom) with(fclose) with(freopen)    \
                        with(freopen64) with(unshare) with(setns)

#endif
