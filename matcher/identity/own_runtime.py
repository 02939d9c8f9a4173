# SPDX-License-Identifier: Apache-2.0
"""Detection of loaders and sanitizers with which a program may fail to start if a library is preloaded.

A loader other than the system's uses another C library, which may be older than the one for which the preloaded
library, such as an allocator, was built. A sanitizer's shared library must be loaded first, or replaces malloc itself.
With gcc 12 and clang 14, programs with a shared AddressSanitizer or ThreadSanitizer exit or crash under jemalloc and
mimalloc, and clang's static LeakSanitizer reports leaks for memory that tcmalloc keeps. Other static sanitizers do not
conflict, because they replace malloc within the program, and this malloc takes precedence over a preloaded one.
"""

from __future__ import annotations

RUNTIME_LIMIT = 64
"""Maximum number of bytes of a loader's path that are kept."""
SANITIZERS = (
    *(b"libasan.so", b"libtsan.so", b"liblsan.so", b"libhwasan.so"),
    *(b"libclang_rt.asan", b"libclang_rt.tsan", b"libclang_rt.hwasan"),
    *(b"__asan_init", b"__tsan_init", b"__lsan_init", b"__msan_init", b"__hwasan_init"),
)
_SYSTEMS = ("/lib/ld", "/lib64/ld", "/usr/lib/ld", "/usr/lib64/ld")


def own_loader(path: bytes) -> str:
    """Return the path of a program's loader, given the content of its section `.interp`; "" if it is the system's.

    The system's loader is glibc's in one of the standard directories. The result is also "" if there is no loader.
    Characters that are not printable ASCII are replaced by `?`.
    """
    text = "".join(chr(byte) if 0x20 < byte < 0x7F else "?" for byte in path.partition(b"\0")[0][:RUNTIME_LIMIT])
    is_systems = any(text.startswith(place) and "/" not in text[len(place) :] for place in _SYSTEMS)
    return "" if is_systems and "/ld-musl" not in text else text


def sanitizer(names: bytes) -> str:
    """Return the first of SANITIZERS with which any name in a dynamic section's name table begins; "" if none does."""
    return next((marker.decode() for marker in SANITIZERS if b"\0" + marker in names), "")
