# SPDX-License-Identifier: Apache-2.0
"""Program that loads a SPANK plugin as Slurm does, and prints as JSON what Slurm would find in it.

The doctor starts this file in a child process, since loading runs code of the plugin's libraries, which may hang or
crash. The child needs only the standard library. Its arguments are the paths of the plugin and of Slurm's library
("" if unknown). As root, it loads the plugin as the user `nobody`, because every user's commands must be able to load
it, and because the doctor should run none of the plugin's code as root.
"""

from __future__ import annotations

import contextlib
import ctypes
import json
import os
import sys

NOBODY = 65534  # uid and gid of the user without rights, in Debian and EL
TEXT_LIMIT = 64  # maximum bytes to read of a plugin's name or type, which Slurm keeps shorter
# Functions that Slurm looks up (spank.h); it refuses a plugin that has none of them.
HOOKS = (
    "init",
    "job_prolog",
    "init_post_opt",
    "local_user_init",
    "user_init",
    "task_init_privileged",
    "task_init",
    "task_post_fork",
    "task_exit",
    "job_epilog",
    "slurmd_exit",
    "exit",
)


class Linker:
    """The dynamic linker, with flags of dlopen(3) that ctypes itself does not offer: ctypes always adds RTLD_NOW."""

    def __init__(self) -> None:
        self._library = ctypes.CDLL(None)
        self._library.dlopen.argtypes = [ctypes.c_char_p, ctypes.c_int]
        self._library.dlopen.restype = self._library.dlsym.restype = ctypes.c_void_p
        self._library.dlsym.argtypes = [ctypes.c_void_p, ctypes.c_char_p]
        self._library.dlerror.restype = ctypes.c_char_p

    def open(self, path: str, flags: int) -> tuple[int | None, str]:
        """Return the handle of a library, or None and the linker's message."""
        handle = self._library.dlopen(os.fsencode(path), flags)
        return handle, "" if handle else os.fsdecode(self._library.dlerror() or b"unknown error")

    def text(self, handle: int, name: str) -> str | None:
        """Return the text that a library exports as `name`; None if it exports no such symbol."""
        place = self._library.dlsym(handle, name.encode())
        return ctypes.string_at(place, TEXT_LIMIT).partition(b"\0")[0].decode("utf-8", "replace") if place else None

    def exports(self, handle: int, name: str) -> bool:
        """Return whether a library exports `name`."""
        return bool(self._library.dlsym(handle, name.encode()))


def examine(path: str, slurm: str) -> dict[str, object]:
    """Load a plugin, and return the linker's messages and the symbols that Slurm looks up.

    Slurm's programs provide functions that the plugin calls, so their library `slurm` is loaded first. Slurm binds each
    function when it is first called (RTLD_LAZY); if the function does not exist, the calling program ends. Therefore,
    the plugin is first loaded with all functions bound at once (RTLD_NOW). In the result, `unresolved` is the linker's
    message if this fails, and `error` its message if loading with RTLD_LAZY fails, too.
    """
    linker = Linker()
    if slurm:
        linker.open(slurm, os.RTLD_LAZY | os.RTLD_GLOBAL)
    handle, unresolved = linker.open(path, os.RTLD_NOW)
    error = ""
    if handle is None:
        handle, error = linker.open(path, os.RTLD_LAZY)
    if handle is None:
        return {"error": error}
    name, kind = (linker.text(handle, symbol) for symbol in ("plugin_name", "plugin_type"))
    hooks = sum(linker.exports(handle, f"slurm_spank_{hook}") for hook in HOOKS)
    return {"unresolved": unresolved, "name": name, "type": kind, "hooks": hooks}


def become_nobody() -> None:
    """Give up root's privileges; in a user namespace that does not map `nobody`, keep them."""
    with contextlib.suppress(OSError):
        os.setgroups([])
        os.setgid(NOBODY)
        os.setuid(NOBODY)


if __name__ == "__main__":
    if os.geteuid() == 0:
        become_nobody()
    # Libraries may print text without a newline at its end, so a newline is printed before the result, the last line.
    sys.stdout.write("\n" + json.dumps(examine(*sys.argv[1:3])) + "\n")
    sys.stdout.flush()
    os._exit(0)  # without the libraries' destructors
