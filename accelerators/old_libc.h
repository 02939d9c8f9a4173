// SPDX-License-Identifier: Apache-2.0
// Selects the oldest versions of functions that have newer versions in glibc, because a program may bring a glibc that
// lacks the newer ones (preloaded.mk). The compiler includes this header before each source of a library that is
// preloaded.
//
// A link with a libc.so.6 without versions would need no list, but the loader would then choose the first version of
// some functions and the last version of others. It also would not help with functions that an old libc lacks
// altogether (fstat, memfd_create): these are system calls or weak symbols in the libraries.
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
// Functions that were in libdl and libpthread before glibc 2.34.
__asm__(".symver dladdr, dladdr@" OLDEST);
__asm__(".symver dlclose, dlclose@" OLDEST);
__asm__(".symver dlopen, dlopen@" OLDEST);
__asm__(".symver dlsym, dlsym@" OLDEST);
__asm__(".symver pthread_key_create, pthread_key_create@" OLDEST);
__asm__(".symver pthread_setspecific, pthread_setspecific@" OLDEST);
// The headers of glibc 2.38 and later rename strtoull and sscanf.
__asm__(".symver __isoc23_strtoull, strtoull@" OLDEST);
__asm__(".symver __isoc23_sscanf, __isoc99_sscanf@" OLDEST_SSCANF);
#endif

#endif
