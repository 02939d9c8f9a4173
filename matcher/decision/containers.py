# SPDX-License-Identifier: Apache-2.0
"""Containers that a job starts: which host paths they contain, and whether they pass the job's variables on.

As in user_choices.py, every command that may start a container counts, wherever it occurs in the script, except in
comments. A path counts as visible only if all of the job's containers bind it under the same name.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from posixpath import normpath

from reprise.matcher.decision.container_runtimes import RUNTIMES, SLURM, Runtime
from reprise.matcher.submission import Submission
from reprise.matcher.submission.option_tables import SRUN
from reprise.matcher.submission.runners import after_options

_SLURM_NAMES = frozenset({"container", "container-id", "container-image", "container-name"})
_SLURM_VARIABLES = ("SBATCH_CONTAINER", "SLURM_CONTAINER", "SBATCH_CONTAINER_ID", "SLURM_CONTAINER_ID")

_HINTS = ("apptainer", "singularity", "docker", "podman", "nerdctl", "ch-run", "shifter", "sarus", "enroot", "--conta")
_COMMENT = re.compile(r"^[ \t]*#(?!SBATCH\b|!).*$", re.MULTILINE)
_CONTINUED = re.compile(r"\\\n")
_QUOTES = "\"'`$(){};"
_BEFORE_NAME = re.compile(r"[/(`=]")  # as in x=$(/opt/bin/apptainer
WORDS_LIMIT = 4_096
"""Maximum number of words of a line that are read; of a longer line, the last words may bind no path."""
OPTIONS_LIMIT = 256
"""Maximum number of words that are read as a runtime's options and their values."""
_MOUNT = re.compile(r"(?:^|,)(?P<key>source|src|destination|dst|target)=(?P<path>[^,]+)")


@dataclass
class Container:
    """A command that starts a container: the host paths that it binds under the same name, and what it passes on."""

    runtime: Runtime
    started: bool
    inherits: bool
    bound: list[str] = field(default_factory=list)
    named: list[str] = field(default_factory=list)

    def passes(self, names: Iterable[str]) -> bool:
        """Return whether the container gets all of these variables of the job."""
        return self.inherits or all(any(_is_named(name, pattern) for pattern in self.named) for name in names)

    def sees(self, path: str) -> bool:
        """Return whether the container contains the host's file or directory `path`, as far as its command says."""
        return is_below(path, self.bound)


def _is_named(name: str, pattern: str) -> bool:
    """Return whether `podman run -e PATTERN` passes a variable; a final `*` stands for any characters."""
    return name == pattern or (pattern.endswith("*") and name.startswith(pattern[:-1]))


def is_below(path: str, tops: Iterable[str]) -> bool:
    """Return whether `path` is one of the directories `tops` or below one of them."""
    return any(path == top or path.startswith(top.rstrip("/") + "/") for top in tops)


def containers_of(submission: Submission) -> tuple[Container, ...]:
    """Return the containers that a job may start."""
    text = submission.script.text if submission.script else ""
    text = _COMMENT.sub("", text) if _has_hint(text) else ""
    lines = [" ".join(submission.argv[1:]), *_CONTINUED.sub(" ", text).splitlines()]
    found = [one for line in lines if _has_hint(line) for one in _in_line(line.split()[:WORDS_LIMIT])]
    if not found and any(submission.env.get(name) for name in _SLURM_VARIABLES):
        found.append(Container(SLURM, started=True, inherits=True))
    return tuple(found)


def _has_hint(text: str) -> bool:
    lower = text.lower()
    return any(hint in lower for hint in _HINTS)


def _in_line(words: Sequence[str]) -> Iterator[Container]:
    """Yield the containers that the words of a command line start."""
    slurm = Container(SLURM, started=False, inherits=True)
    current, end = slurm, len(words)  # options of `current` are before `end`
    for position, word in enumerate(words):
        plain = word.strip(_QUOTES)
        value = plain.partition("=")[2] or "".join(words[position + 1 : position + 2])
        if runtime := RUNTIMES.get(_BEFORE_NAME.split(plain)[-1].lower()):
            yield from [current] if current is not slurm and current.started else []
            current = Container(runtime, started=not runtime.verbs, inherits=runtime.inherits)
            end = _end(words, position, runtime)
        elif not current.started and plain in current.runtime.verbs:
            current.started = True
            end = _end(words, position, current.runtime)
        elif position < end and plain.startswith("-"):
            _read_option(current, plain, value)
    yield from [current] if current is not slurm and current.started else []
    yield from [slurm] if slurm.started else []


def _end(words: Sequence[str], position: int, runtime: Runtime) -> int:
    """Return the position, at or after `position`, of the first word that is not an option or an option's value."""
    return position + after_options(words[position : position + OPTIONS_LIMIT], runtime.options)


def _read_option(container: Container, word: str, value: str) -> None:
    """Store in `container` which paths an option binds, which variables it passes on, or that it starts a container."""
    option = word.partition("=")[0]
    runtime = container.runtime
    letters = {f"-{letter}" for letter in option[1:]} if option[1:2] != "-" else set()
    if runtime is SLURM and option.startswith("--cont"):
        known = SRUN.find(option[2:])
        container.started = container.started or (known is not None and known.name in _SLURM_NAMES)
    if option in runtime.binds:
        container.bound += _bound(value, runtime)
    elif option in runtime.names:
        container.named.append(value.strip(_QUOTES))
    elif option == "--env-host" or not runtime.cleans.isdisjoint({option, *letters}):
        container.inherits = option == "--env-host"


def _bound(value: str, runtime: Runtime) -> list[str]:
    """Return the host paths that an option's value binds under the same name; paths with variables are unknown."""
    value = value.strip(_QUOTES.replace("$", ""))
    if "=" in value:
        keys = {found["key"][0]: found["path"] for found in _MOUNT.finditer(value)}
        pairs = [(keys.get("s", ""), keys.get("d", "") or keys.get("t", ""))]
    else:
        pairs = []
        for text in value.split(","):
            source, _, rest = text.partition(":")
            pairs.append((source, rest.partition(":")[0] or (source if runtime.same_path else "")))
    return [_normal(source) for source, to in pairs if _is_known(source) and to and _normal(source) == _normal(to)]


def _is_known(path: str) -> bool:
    return path.startswith("/") and "$" not in path and "`" not in path


def _normal(path: str) -> str:
    return normpath("/" + path.lstrip("/"))
