# SPDX-License-Identifier: Apache-2.0
"""Load a plugin in a child process, and describe why Slurm could not load or use it.

Slurm loads SPANK plugins with dlopen(3), and requires the symbols plugin_name, plugin_type and plugin_version, and at
least one function of spank.h (src/common/plugin.c and spank.c of Slurm).
"""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Callable
from pathlib import Path

from reprise.doctor import dlopen_child
from reprise.doctor.probes import Run
from reprise.doctor.probes import run as run_here

SLURM_LIBRARY = "libslurmfull.so"  # provides the functions of Slurm's programs; lies in Slurm's plugin directory
# Packages of the libraries that the plugin needs, in Debian and in EL, by the library's name without its version.
PACKAGES = {"libjson-c": ("libjson-c5", "json-c"), "libmunge": ("libmunge2", "munge-libs"), "libc": ("libc6", "glibc")}
REBUILD = "run `make install-plugin` on this host"

Fault = tuple[str, str]
"""Fault of a file, as the end of a sentence that begins with its path, and the remedy."""
Load = Callable[[Path], Fault | None]
"""Function that loads a plugin, and returns why Slurm could not use it; None if it could."""

_NOT_FOUND = re.compile(r"([^:\s]+): cannot open shared object file: No such file or directory")
_DENIED = re.compile(r"([^:\s]+): cannot open shared object file: Permission denied")
_UNDEFINED = re.compile(r"undefined symbol: ([^\s,]+)")
_VERSION = re.compile(r"version [`']([^']+)' not found")


def load(path: Path, run: Run = run_here) -> Fault | None:
    """Load the plugin at `path` as Slurm does, in a child process; return why Slurm could not use it, or None.

    `run` runs the child, with a time limit. Variables that change where libraries are found are removed, because
    Slurm's daemons do not have them.
    """
    library = path.parent / SLURM_LIBRARY
    slurm = str(library) if library.exists() else ""
    clean = ("env", "-u", "LD_LIBRARY_PATH", "-u", "LD_PRELOAD")
    done = run([*clean, sys.executable, "-I", "-S", dlopen_child.__file__, str(path), slurm])
    try:
        found = json.loads(done.stdout.splitlines()[-1])
    except (IndexError, ValueError):
        found = None
    if not isinstance(found, dict) or not found.keys() & {"error", "hooks"}:  # the plugin has ended the child
        if done.status is not None and done.status < 0:
            return f"ended a program that loaded it (signal {-done.status})", REBUILD
        return f"could not be loaded ({done.complaint})", REBUILD
    return judge(found, has_library=bool(slurm))


def judge(found: dict[str, object], *, has_library: bool) -> Fault | None:
    """Return why Slurm could not use a plugin, from what `dlopen_child` found; None if it could.

    If Slurm's library is absent (`has_library` is False), Slurm's programs contain the library's functions, so a plugin
    that needs one of these functions is not checked further.
    """
    for message, is_lazy in ((str(found.get("error") or ""), False), (str(found.get("unresolved") or ""), True)):
        undefined = _UNDEFINED.search(message)
        if undefined and not has_library and undefined[1].startswith(("slurm_", "spank_")):
            return None
        if undefined:
            effect = "ends the program that calls it" if is_lazy else "does not load"
            return f"{effect}: undefined symbol {undefined[1]}", REBUILD
        if message and not is_lazy:
            return _in_words(message)
    for symbol in ("name", "type"):
        if found.get(symbol) is None:
            return f"does not export plugin_{symbol}, so Slurm does not load it", REBUILD
    if found["type"] != "spank":
        return f"is a plugin of type {found['type']!r}, not of type 'spank'", REBUILD
    if not found["hooks"]:
        return "exports no function slurm_spank_*, so Slurm does not load it", REBUILD
    return None


def _in_words(message: str) -> Fault:
    if missing := _NOT_FOUND.search(message):
        return f"does not load: {missing[1]} is missing", f"install {package_of(missing[1])}"
    if denied := _DENIED.search(message):
        return f"does not load: users cannot read {denied[1]}", f"chmod a+r {denied[1]}, and a+x its directories"
    if version := _VERSION.search(message):
        return f"does not load: it was built on a newer system, whose libraries have {version[1]}", REBUILD
    return f"does not load: {message}", REBUILD


def package_of(library: str) -> str:
    """Return, as text, the package that contains a library such as `libmunge.so.2`, in Debian and in EL.

    If the package is unknown, the text names the library.
    """
    packages = PACKAGES.get(Path(library).name.partition(".so")[0])
    if not packages:
        return f"the package that has {Path(library).name}"
    return f"the package {packages[0]} (EL: {packages[1]})"
