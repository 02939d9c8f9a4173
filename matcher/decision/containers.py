# SPDX-License-Identifier: Apache-2.0
"""Containers that a job starts: which host paths they contain, and whether they pass the job's variables on.

As in user_choices.py, every command that may start a container counts, wherever it occurs in the script, except in
comments. A path counts as visible only if all of the job's containers bind it under the same name.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import islice
from posixpath import normpath

from reprise.matcher.decision.container_runtimes import APPTAINER, RUNTIMES, SLURM, Runtime
from reprise.matcher.submission import Submission
from reprise.matcher.submission.option_tables import SRUN

_SLURM_NAMES = frozenset({"container", "container-id", "container-image", "container-name"})
_SLURM_VARIABLES = ("SBATCH_CONTAINER", "SLURM_CONTAINER", "SBATCH_CONTAINER_ID", "SLURM_CONTAINER_ID")

_HINTS = ("apptainer", "singularity", "docker", "podman", "nerdctl", "ch-run", "shifter", "sarus", "enroot", "--conta")
_SHORTEST = min(map(len, _HINTS))
_COMMENT = re.compile(r"^[ \t]*#(?!SBATCH\b|!).*$", re.MULTILINE)
_CONTINUED = re.compile(r"\\\n")
_QUOTES = "\"'`$(){};"
_BEFORE_NAME = re.compile(r"[/(`=\"'|;&]|:-")  # as in x=$(/opt/bin/apptainer and RUN="apptainer
_OPERATORS = re.compile(r"[;|&]+")
_VALUE = re.compile(
    r"=[\"'`$(]{0,3}(?:(?:which|command -v|type -p) )?(?:[\w.$~{}-]{0,64}/){0,16}([a-z-]{5,16})[\"'`)]{0,2}(?=[\s;]|\Z)"
)
_NAME_BEFORE = re.compile(r"[A-Za-z_][A-Za-z0-9_]{0,63}\Z")
_CLEANED = re.compile(
    r"(?:APPTAINER|SINGULARITY)_(?:CLEANENV|CONTAINALL|COMPAT|OCI)=[\"']?(?![\"']|0\b|no\b|false\b)\S"
)
PLACES_LIMIT = 512
"""Maximum number of assignments that are searched for variables whose value is the name of a runtime."""
CLUSTER_LIMIT = 64
"""Maximum number of characters that are read of a word with several short options, such as `-eB/data`."""
WORDS_LIMIT = 6_000
"""Maximum number of words that are read of all commands that may start containers; each command counts as two more."""
CONTAINERS_LIMIT = 64
"""Maximum number of different containers; a job with more of them, or with more words, has an unknown one, too."""
_MOUNT = re.compile(r"(?:^|,)(?P<key>source|src|destination|dst|target)=(?P<path>[^,]+)")


@dataclass
class Container:
    """A command that starts a container: the host paths that it binds under the same name, and what it passes on.

    `hidden` are the paths under which the container has files other than the host's.
    """

    runtime: Runtime
    started: bool
    inherits: bool
    bound: list[str] = field(default_factory=list)
    named: list[str] = field(default_factory=list)
    hidden: list[str] = field(default_factory=list)

    def passes(self, names: Iterable[str]) -> bool:
        """Return whether the container gets all of these variables of the job."""
        return self.inherits or all(any(_is_named(name, pattern) for pattern in self.named) for name in names)

    def sees(self, path: str) -> bool:
        """Return whether the container contains the host's file or directory `path`, as far as its command says."""
        return is_below(path, self.bound) and not is_below(path, self.hidden)


def _is_named(name: str, pattern: str) -> bool:
    """Return whether `podman run -e PATTERN` passes a variable; a final `*` stands for any characters."""
    return name == pattern or (pattern.endswith("*") and name.startswith(pattern[:-1]))


def is_below(path: str, tops: Iterable[str]) -> bool:
    """Return whether `path` is one of the directories `tops` or below one of them."""
    return any(path == top or path.startswith(top.rstrip("/") + "/") for top in tops)


def containers_of(submission: Submission) -> tuple[Container, ...]:
    """Return the containers that a job may start, without repetition."""
    text = submission.script.text if submission.script else ""
    text = _CONTINUED.sub(" ", _COMMENT.sub("", text)) if _has_hint(text) else ""
    text = _with_names(text)
    found: dict[tuple[object, ...], Container] = {}
    left = WORDS_LIMIT
    for command in _commands(submission.argv[1:], text.splitlines()):
        words = command.split(maxsplit=max(left, 0))
        left -= len(words) + 2
        if left < 0 or len(found) > CONTAINERS_LIMIT:
            unknown = Container(SLURM, started=True, inherits=False)
            return (*found.values(), unknown)
        for one in _in_command(words):
            found[one.runtime is APPTAINER, one.inherits, tuple(one.bound), tuple(one.named), tuple(one.hidden)] = one
    if not found and any(submission.env.get(name) for name in _SLURM_VARIABLES):
        return (Container(SLURM, started=True, inherits=True),)
    if found and _CLEANED.search(text):
        for one in found.values():
            one.inherits = one.inherits and one.runtime is not APPTAINER
    return tuple(found.values())


def _has_hint(text: str) -> bool:
    lower = text.lower()
    return any(hint in lower for hint in _HINTS)


def _with_names(text: str) -> str:
    """Replace the variables whose value is the name of a runtime, as in `RUN=$(which apptainer)`, by that name."""
    names: dict[str, str] = {}
    for value in islice(_VALUE.finditer(text), PLACES_LIMIT):
        before = _NAME_BEFORE.search(text[max(0, value.start() - 64) : value.start()])
        if before and value[1] in RUNTIMES:
            names[before.group()] = value[1]
    if not names:
        return text
    return re.sub(rf"\$\{{?({'|'.join(names)})\b\}}?", lambda used: names[used[1]], text)


def _commands(argv: Sequence[str], lines: Sequence[str]) -> Iterator[str]:
    """Yield the commands that may start containers: first the options of the job, then the commands of its script.

    An image and its mounts may be in different `#SBATCH` lines, so these lines and the command line are read as one.
    """
    directives = [line for line in lines if line.startswith("#SBATCH")]
    options = " ".join([*argv, *directives])
    if _has_hint(options):
        yield options
    for line in lines:
        if len(line) >= _SHORTEST and not line.startswith("#SBATCH") and _has_hint(line):
            yield from _OPERATORS.split(line)


def _in_command(words: Sequence[str]) -> Iterator[Container]:
    """Yield the containers that the words of a command start."""
    slurm = Container(SLURM, started=False, inherits=True)
    current = slurm
    in_options, is_value = True, False  # whether a word may be an option of `current`, and whether it is a value
    for position, word in enumerate(words):
        if is_value:
            is_value = False
            continue
        plain = word.strip(_QUOTES)
        if runtime := RUNTIMES.get(_BEFORE_NAME.split(plain)[-1].lower()):
            yield from [current] if current is not slurm and current.started else []
            is_last = position + 1 == len(words)  # as in `module load shifter`
            current = Container(runtime, started=not (runtime.verbs or is_last), inherits=runtime.inherits)
            in_options = True
        elif not current.started and plain in current.runtime.verbs:
            current.started = in_options = True
        elif plain.startswith("-"):
            following = "".join(words[position + 1 : position + 2])
            of_slurm = plain.startswith("--cont") and (current is slurm or not current.started)
            container = slurm if of_slurm else current
            if of_slurm or in_options:
                for option, value in _options_in(plain, container.runtime):
                    _read_option(container, option, following if value is None else value)
                    is_value = not of_slurm and value is None and option in container.runtime.options
                in_options = in_options and (of_slurm or plain != "--")
        elif current is not slurm:
            in_options = False
    yield from [current] if current is not slurm and current.started else []
    yield from [slurm] if slurm.started else []


def _options_in(word: str, runtime: Runtime) -> Iterator[tuple[str, str | None]]:
    """Yield each option in a word with the value in the same word, None if there is none: `-eB/data` has -e and -B."""
    if word.startswith("--"):
        name, equals, value = word.partition("=")
        yield name, value if equals else None
        return
    for position, letter in enumerate(word[1:CLUSTER_LIMIT], start=2):
        option, rest = f"-{letter}", word[position:]
        is_attached = rest.startswith("=") and runtime.strips_equals
        if is_attached or option in runtime.options | runtime.binds | runtime.names:
            yield option, rest.removeprefix("=" if is_attached else "") or None
            return
        yield option, None


def _read_option(container: Container, option: str, value: str) -> None:
    """Note what an option binds or passes on."""
    runtime = container.runtime
    if runtime is SLURM and option.startswith("--cont"):
        known = SRUN.find(option[2:])
        container.started = container.started or (known is not None and known.name in _SLURM_NAMES)
    if option in runtime.binds:
        _bind(container, value)
    elif option in runtime.names:
        container.named.append(value.strip(_QUOTES))
    elif option == "--env-host" or option in runtime.cleans:
        container.inherits = option == "--env-host"


def _bind(container: Container, value: str) -> None:
    """Note the paths that an option's value binds; host paths with variables are unknown."""
    value = value.strip(_QUOTES.replace("$", ""))
    if "=" in value:
        keys = {found["key"][0]: found["path"] for found in _MOUNT.finditer(value)}
        pairs = [(keys.get("s", ""), keys.get("d", "") or keys.get("t", ""))]
    else:
        pairs = []
        for text in value.split(","):
            source, _, rest = text.partition(":")
            pairs.append((source, rest.partition(":")[0] or (source if container.runtime.same_path else "")))
    for source, to in pairs:
        is_same = _is_known(source) and to and _normal(source) == _normal(to)
        if is_same:
            container.bound.append(_normal(source))
        elif _is_known(to):
            container.hidden.append(_normal(to))


def _is_known(path: str) -> bool:
    return path.startswith("/") and "$" not in path and "`" not in path


def _normal(path: str) -> str:
    return normpath("/" + path.lstrip("/"))
