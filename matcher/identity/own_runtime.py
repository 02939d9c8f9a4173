# SPDX-License-Identifier: Apache-2.0
"""Parts of a program that conflict with a preloaded library, so that the program ends at its start.

A loader other than the system's comes with another C library, which may be older than the one that an allocator of the
node was built for. A sanitizer's library must come first, or replaces malloc itself: with gcc 12 and clang 14, programs
with a shared AddressSanitizer or ThreadSanitizer end or crash under jemalloc and mimalloc, and clang's static
LeakSanitizer reports the memory that tcmalloc keeps as leaks. Other static sanitizers act as the program's malloc,
which comes first.
"""

from __future__ import annotations

RUNTIME_LIMIT = 64
"""Bytes of a loader's path that are kept."""
SANITIZERS = (
    *(b"libasan.so", b"libtsan.so", b"liblsan.so", b"libhwasan.so"),
    *(b"libclang_rt.asan", b"libclang_rt.tsan", b"libclang_rt.hwasan"),
    *(b"__asan_init", b"__tsan_init", b"__lsan_init", b"__msan_init", b"__hwasan_init"),
)
_SYSTEMS = ("/lib/ld", "/lib64/ld", "/usr/lib/ld", "/usr/lib64/ld")


def own_loader(path: bytes) -> str:
    """Return the path of a program's loader, from its `.interp`.

    It is "" if there is none, or if it is glibc's in the system's place. Characters that are not printable ASCII become
    `?`.
    """
    text = "".join(chr(byte) if 0x20 < byte < 0x7F else "?" for byte in path.partition(b"\0")[0][:RUNTIME_LIMIT])
    is_systems = any(text.startswith(place) and "/" not in text[len(place) :] for place in _SYSTEMS)
    return "" if is_systems and "/ld-musl" not in text else text


def sanitizer(names: bytes) -> str:
    """Return the first of SANITIZERS that a name of a dynamic section's table begins with, "" if there is none."""
    return next((marker.decode() for marker in SANITIZERS if b"\0" + marker in names), "")
