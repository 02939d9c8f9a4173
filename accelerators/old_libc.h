// SPDX-License-Identifier: Apache-2.0
// Selects the oldest versions of functions that have newer versions in glibc, because a program may bring a glibc that
// lacks the newer ones (preloaded.mk). The compiler includes this header before each source file of a preloaded
// library.
//
// Linking with a libc.so.6 that has no symbol versions would make this list unnecessary, but the loader would then
// choose the first version of some functions and the last version of others. Neither method helps with functions that
// an old libc lacks altogether (fstat, memfd_create); the libraries use system calls or weak symbols instead.
#ifndef OLD_LIBC_H
#define OLD_LIBC_H

#if defined __x86_64__
#define OLDEST "GLIBC_2.2.5"
#define OLDEST_SSCANF "GLIBC_2.7"
#elif defined __aarch64__
#define OLDEST "GLIBC_2.17"
#define OLDEST_SSCANF "GLIBC_2.17"
#endif

#ifdef OLDEST
// Functions that glibc 2.34 moved from libdl and libpthread to libc, where they have new versions.
__asm__(".symver dladdr, dladdr@" OLDEST);
__asm__(".symver dlclose, dlclose@" OLDEST);
__asm__(".symver dlopen, dlopen@" OLDEST);
__asm__(".symver dlsym, dlsym@" OLDEST);
__asm__(".symver pthread_key_create, pthread_key_create@" OLDEST);
__asm__(".symver pthread_setspecific, pthread_setspecific@" OLDEST);
// The headers of glibc 2.38 and later replace calls of strtoull and sscanf by calls of new functions, which older
// releases lack. These lines bind the calls to the old functions.
__asm__(".symver __isoc23_strtoull, strtoull@" OLDEST);
__asm__(".symver __isoc23_sscanf, __isoc99_sscanf@" OLDEST_SSCANF);
#endif

#endif
