# SPDX-License-Identifier: Apache-2.0
# Flags to build a library that jobs load with LD_PRELOAD. GNU make includes this file before a library's own flags.
#
# The loader ends a program at its start if such a library, or a library that it depends on, needs anything that the
# program's own C library lacks. A container or a software stack may bring an older C library than this machine's, or
# musl. Therefore:
#
# - functions are linked in their oldest versions (old_libc.h); a test checks that no version is too new;
# - libdl.so.2 is needed by name, because it contains dlsym before glibc 2.34. Every glibc has a file of this name, and
#   musl treats the name as that of its own library;
# - nothing is needed from glibc's loader by name, because musl has no such file: neither __tls_get_addr, which
#   thread-local variables need without initial-exec, nor, on aarch64, __stack_chk_guard.
#
# Such a library is not fortified, because it defines the functions that fortified programs call. It is not optimized at
# link time, because that would lose the versions of functions. Package builds enable both, so the flags that disable
# them come last.

PRELOADED := $(dir $(lastword $(MAKEFILE_LIST)))
PRELOADED_FILES := $(addprefix $(PRELOADED),old_libc.h preloaded.mk)
PRELOADED_CPPFLAGS := -include $(PRELOADED)old_libc.h
PRELOADED_CFLAGS := -fPIC -fvisibility=hidden -ftls-model=initial-exec \
                    $(if $(filter aarch64%,$(shell $(CC) -dumpmachine)),-fno-stack-protector,-fstack-protector-strong)
PRELOADED_LAST := -U_FORTIFY_SOURCE -Wp,-U_FORTIFY_SOURCE -fno-lto
PRELOADED_LDFLAGS := -shared -Wl,-z,relro
PRELOADED_LIBS := -Wl,--push-state,--no-as-needed -l:libdl.so.2 -Wl,--pop-state
