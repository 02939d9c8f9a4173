// SPDX-License-Identifier: Apache-2.0
// The functions of libc that this library wraps. Not among them is mmap, unless the job has a burst buffer, because a
// wrapper would hide munmap and mmap within libc from the memory hooks of MPI libraries.
#ifndef FORWARD_WRAPPED_H
#define FORWARD_WRAPPED_H

#ifdef FORWARD_BURST
#define BURST_FUNCTIONS(with)                                                                                          \
    with(open) with(open64) with(openat) with(openat64) with(__open_2) with(__open64_2) with(__openat_2)               \
        with(__openat64_2) with(creat) with(creat64) with(fopen) with(fopen64) with(ftruncate) with(ftruncate64)       \
            with(truncate) with(truncate64) with(fallocate) with(fallocate64) with(rename) with(renameat)              \
                with(renameat2) with(unlink) with(unlinkat) with(remove) with(sendfile) with(sendfile64)               \
                    with(copy_file_range) with(splice) with(mmap) with(mmap64) with(fseek) with(fseeko) with(fseeko64) \
                        with(fsetpos) with(fsetpos64) with(rewind) with(fdopen) with(chmod) with(fchmod)               \
                            with(fchmodat) with(execve) with(execv) with(execvp) with(execvpe) with(fexecve)           \
                                with(vdprintf) with(dprintf) with(__vdprintf_chk) with(__dprintf_chk)                  \
                                    with(posix_spawn_file_actions_addopen)
#else
#define BURST_FUNCTIONS(with)
#endif

#define FUNCTIONS(with)                                                                                                \
    with(read) with(__read) with(__read_chk) with(pread) with(pread64) with(__pread64) with(__pread_chk)               \
        with(__pread64_chk) with(readv) with(preadv) with(preadv64) with(preadv2) with(preadv64v2) with(write)         \
            with(__write) with(writev) with(pwrite) with(pwrite64) with(__pwrite64) with(pwritev) with(pwritev64)      \
                with(pwritev2) with(pwritev64v2) with(fread) with(fread_unlocked) with(__fread_chk)                    \
                    with(__fread_unlocked_chk) with(fwrite) with(fwrite_unlocked) with(fsync) with(fdatasync)          \
                        with(sync) with(syncfs) with(close) with(__close) with(dup2) with(__dup2) with(dup3)           \
                            with(close_range) with(closefrom) with(fclose) with(freopen) with(freopen64)               \
                                BURST_FUNCTIONS(with)

#endif
