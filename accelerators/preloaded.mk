# SPDX-License-Identifier: Apache-2.0
# How a library is built that jobs get in LD_PRELOAD; for GNU make's include, in front of a library's own flags.
#
# The loader ends a program at its start where such a library, or one that it needs, needs more than the program's own
# C library has: a container or a software stack may bring an older one than this machine's, or musl. So
#
# - what is linked is the oldest version of each function, by old_libc.h; a test compares them with a bound;
# - libdl.so.2 is needed by name: dlsym is there before glibc 2.34. Every glibc has a file of this name, and musl takes
#   it for itself;
# - nothing is needed of the loader by its name, which musl does not know: no __tls_get_addr, which variables of threads
#   have without initial-exec, and on aarch64 no __stack_chk_guard.
#
# Nor is it fortified, since it defines what fortified programs call. Optimized at link time, it would lose the versions.
# Packages are built with flags for both, so the flags against them come last.

PRELOADED := $(dir $(lastword $(MAKEFILE_LIST)))
PRELOADED_FILES := $(addprefix $(PRELOADED),old_libc.h preloaded.mk)
PRELOADED_CPPFLAGS := -include $(PRELOADED)old_libc.h
PRELOADED_CFLAGS := -fPIC -fvisibility=hidden -ftls-model=initial-exec \
                    $(if $(filter aarch64%,$(shell $(CC) -dumpmachine)),-fno-stack-protector,-fstack-protector-strong)
PRELOADED_LAST := -U_FORTIFY_SOURCE -Wp,-U_FORTIFY_SOURCE -fno-lto
PRELOADED_LDFLAGS := -shared -Wl,-z,relro
PRELOADED_LIBS := -Wl,--push-state,--no-as-needed -l:libdl.so.2 -Wl,--pop-state
