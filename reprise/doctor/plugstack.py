# SPDX-License-Identifier: Apache-2.0
"""Read plugstack.conf as Slurm does (spank(8)), and check the line that loads Reprise's plugin.

Every Slurm command reads the file with the permissions of the user who runs it. Slurm 22.05 was observed to refuse
submissions by users who cannot read the file, to print two error messages to every user for a line that it does not
understand, and to skip directories and dangling links.
"""

from __future__ import annotations

import glob
import os
import re
import stat
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

from reprise import endpoint
from reprise.doctor.findings import Finding, ok, problem, warning
from reprise.doctor.probes import hidden_by
from reprise.endpoint import Endpoint

CHECK = "plugstack"
PLUGIN = "spank_reprise.so"
KEYWORDS = ("required", "optional")

LARGEST_UID = 2**32 - 2
ENDPOINT_LIMIT = 4


def _number(low: int, high: int) -> Callable[[str], bool]:
    return lambda value: bool(re.fullmatch("[0-9]{1,4000}", value)) and low <= int(value) <= high


def _path(limit: int) -> Callable[[str], bool]:
    return lambda value: value.startswith("/") and len(os.fsencode(value)) <= limit


@dataclass(frozen=True)
class Argument:
    """Argument of the plugin: `wanted` describes valid values as the plugin's log does, and `takes` checks a value."""

    wanted: str
    takes: Callable[[str], bool]


# Arguments that spank/settings.c accepts.
ARGUMENTS = {
    "endpoint": Argument(
        "unix:/PATH (107 bytes at most) or tcp:HOST:PORT (at most 4 endpoints in total)",
        lambda value: endpoint.parse(value) is not None,
    ),
    "matcher_uid": Argument("a user id, in digits", _number(0, LARGEST_UID)),
    "credential": Argument("munge or slurm", lambda value: value in ("munge", "slurm")),
    "munge_socket": Argument("an absolute path of at most 107 bytes", _path(107)),
    "sack_socket": Argument("an absolute path of at most 107 bytes", _path(107)),
    "deadline_ms": Argument("a number from 1 to 1000", _number(1, 1000)),
    "default": Argument("on, off or observe", lambda value: value in ("on", "off", "observe")),
    "identity": Argument("on or off", lambda value: value in ("on", "off")),
    "minimum_uid": Argument("a user id, in digits", _number(0, LARGEST_UID)),
    "kill_switch": Argument("an absolute path of at most 4095 bytes", _path(4095)),
    "preload_directory": Argument("an absolute path of at most 4095 bytes", _path(4095)),
    "witness": Argument("an absolute path of at most 4095 bytes", _path(4095)),
}


@dataclass(frozen=True)
class Entry:
    """Line that loads a plugin: place ("file:line"), keyword ("required" or "optional"), path and arguments."""

    place: str
    keyword: str
    plugin: str
    arguments: tuple[str, ...]

    def values(self, name: str) -> list[str]:
        """Return the valid values of all arguments with this name, in order; the plugin ignores invalid values."""
        pairs = (text.partition("=") for text in self.arguments)
        return [value for key, _, value in pairs if key == name and ARGUMENTS[key].takes(value)]

    def value(self, name: str) -> str | None:
        """Return an argument's value in effect, which is its last valid value; None if it has no valid value."""
        return next(reversed(self.values(name)), None)

    @property
    def endpoints(self) -> list[Endpoint]:
        """Endpoints to which the plugin sends requests, in the order in which they are tried."""
        named = [endpoint.parse(value) for value in self.values("endpoint")[:ENDPOINT_LIMIT]]
        return [one for one in named if one] or [endpoint.DEFAULT]


def read(path: Path) -> Iterator[Entry | Finding]:
    """Yield the entries in the file at `path` and in files that it includes, and any problems with these files."""
    yield from _read(path, ())


def _read(path: Path, above: tuple[Path, ...]) -> Iterator[Entry | Finding]:
    try:
        real = path.resolve()
        if real in above:
            yield problem(CHECK, f"{path} includes itself", "remove that include line")
            return
        if not path.is_file():
            return
        hidden, text = hidden_by(path), path.read_text(encoding="utf-8", errors="replace")
    except OSError as error:
        yield problem(
            CHECK, f"{path} cannot be read ({error.strerror})", "run this as root, or correct its permissions"
        )
        return
    if hidden:
        mode = "a+x" if hidden.is_dir() else "a+r"
        denied = f"not every user can read {path}, which stops the jobs of those who cannot"
        yield problem(CHECK, denied, f"chmod {mode} {hidden}")
    for number, line in enumerate(text.splitlines(), 1):
        words = line.partition("#")[0].split()
        if not words:
            continue
        place = f"{path}:{number}"
        if words[0] in KEYWORDS and len(words) > 1:
            yield Entry(place, words[0], words[1], tuple(words[2:]))
        elif words[0] == "include" and len(words) > 1:
            for name in sorted(glob.glob(str(path.parent / words[1]))):  # noqa: PTH207 (an absolute pattern)
                yield from _read(Path(name), (*above, real))
        else:
            yield problem(
                CHECK,
                f"{place}: Slurm does not understand {' '.join(words[:2])!r} and prints an error to every user",
                "remove the line, or the file if it is not meant for Slurm",
            )


def examine(path: Path, listened: Path | None, libraries: Path | None = None) -> tuple[list[Finding], Entry | None]:
    """Return the findings about the plugin stack in `path`, and the entry that loads Reprise's plugin, or None.

    `listened` is the daemon's socket. `libraries` is the directory from which campaigns load accelerators. Either may
    be None if it is unknown.
    """
    if not path.exists():
        remedy = f"create it with `include {path.parent}/plugstack.conf.d/*.conf`, and put Reprise's file there"
        return [problem(CHECK, f"{path} does not exist", remedy)], None
    parts = list(read(path))
    findings = [part for part in parts if isinstance(part, Finding)]
    ours = [part for part in parts if isinstance(part, Entry) and Path(part.plugin).name == PLUGIN]
    if not ours:
        remedy = f"copy Reprise's plugstack.conf to a path that {path} includes"
        return [*findings, problem(CHECK, f"neither {path} nor a file that it includes loads {PLUGIN}", remedy)], None
    if len(ours) > 1:
        places = ", ".join(entry.place for entry in ours)
        findings.append(problem(CHECK, f"{PLUGIN} is loaded {len(ours)} times ({places})", "keep one of the lines"))
    findings += _judge(ours[0], listened, libraries)
    if not findings:
        findings.append(ok(CHECK, f"{ours[0].place} loads {PLUGIN}"))
    return findings, ours[0]


def _judge(entry: Entry, listened: Path | None, libraries: Path | None) -> Iterator[Finding]:
    if entry.keyword == "required":
        yield problem(
            CHECK, f"{entry.place} makes {PLUGIN} required: its failure would stop jobs", "change it to `optional`"
        )
    yield from _judge_arguments(entry)
    asked = [one for one in entry.endpoints if one.path]
    if listened and asked and listened not in [one.path for one in asked]:
        yield problem(
            CHECK,
            f"{entry.place}: the plugin sends requests to {asked[0]}, but the daemon listens at {listened}",
            "set endpoint=unix: and matcher.socket to the same path",
        )
    loaded = Path(entry.value("preload_directory") or "/usr/local/lib")
    if libraries and loaded != libraries:
        yield problem(
            CHECK,
            f"{entry.place}: the plugin loads libraries from {loaded}, but campaigns from {libraries}",
            "set preload_directory= and tuner.preload_directory to the same path",
        )
    if witness := entry.value("witness"):
        yield from _judge_witness(entry, Path(witness))
    switch = Path(entry.value("kill_switch") or "/etc/reprise/disabled")
    if switch.exists():
        yield warning(CHECK, f"{switch} exists, so the plugin does nothing", "remove it to enable Reprise")
    if entry.value("default") == "off":
        yield warning(CHECK, f"{entry.place}: default=off", "only jobs with --reprise=on get settings")


def _judge_witness(entry: Entry, library: Path) -> Iterator[Finding]:
    """Yield reasons why the plugin would not load the witness library, assuming that nodes are like this host."""
    try:
        status = library.stat()
    except OSError as error:
        why = f"{entry.place}: witness={library}: {error.strerror}: jobs with --reprise=profile get no profile"
        yield warning(CHECK, why, "run `make install-tools` (package reprise-tools) on each node, or correct the path")
        return
    if status.st_uid or status.st_mode & (stat.S_IWGRP | stat.S_IWOTH):
        why = f"{entry.place}: users other than root can write to {library}: jobs with --reprise=profile get no profile"
        yield warning(CHECK, why, f"chown root {library} && chmod go-w {library}, on each node")


def _judge_arguments(entry: Entry) -> Iterator[Finding]:
    for text in entry.arguments:
        name, _, value = text.partition("=")
        if name not in ARGUMENTS:
            known = ", ".join(f"{known}=" for known in ARGUMENTS)
            yield problem(CHECK, f"{entry.place}: the plugin ignores {text!r}: unknown argument", f"use {known}")
        elif not ARGUMENTS[name].takes(value):
            remedy = f"give {name}=VALUE, where VALUE is {ARGUMENTS[name].wanted}"  # worded as in the plugin's log
            yield problem(CHECK, f"{entry.place}: the plugin ignores {text!r}: bad value", remedy)
    if len(entry.values("endpoint")) > ENDPOINT_LIMIT:
        text = f"{entry.place}: the plugin ignores all endpoints after the {ENDPOINT_LIMIT}th"
        yield problem(CHECK, text, "remove some endpoints, since all share one deadline")
