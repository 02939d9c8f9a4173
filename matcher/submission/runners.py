# SPDX-License-Identifier: Apache-2.0
"""Reader of the commands that containers, environments and profilers run, as in `apptainer exec IMAGE COMMAND`."""

from __future__ import annotations

import re
from collections.abc import Sequence
from posixpath import basename
from typing import NamedTuple

from reprise.matcher.submission import interpreters
from reprise.matcher.submission.engines import ENGINES
from reprise.matcher.submission.launchers import LAUNCHERS
from reprise.matcher.submission.submitted import TEXT_LIMIT
from reprise.matcher.submission.wrappers import RUNNERS, WRAPPERS, Runner

COMMANDS = frozenset(LAUNCHERS) | frozenset(WRAPPERS) | frozenset(RUNNERS) | frozenset(interpreters.INTERPRETERS)
_IMAGE = re.compile(r".*(?:\.(?:sif|simg|img|sqsh|sqfs)\Z|://)")
_SCRIPT = re.compile(r"[^-].*\.(?:py|sh|R|r|jl|pl)\Z")
_IN_BIN = re.compile(r"/(?:.*/)?s?bin/[^/]+\Z")
_WORD = re.compile(r"[A-Za-z][\w+-]*\Z")
_OF_IMAGE = frozenset({"participant", "group", "session", "run", "help"})
"""Words that, directly after an image, are arguments of the image's own program, as in BIDS images."""


class Inside(NamedTuple):
    """The command that a runner runs; `argv` is empty if there is no command, or if the command is unknown."""

    argv: list[str]
    runs_nothing: bool = False


def in_runner(argv: Sequence[str], runner: Runner) -> Inside | None:
    """Return the command that `apptainer exec IMAGE` or a similar runner runs; None if its verb runs no command."""
    verb = after_options(argv, runner.options)
    if verb >= len(argv):
        return None
    if argv[verb] in runner.interactive:
        image = verb + after_options(argv[verb:], runner.options)
        script = list(argv[image + 1 :]) if argv[verb] == "shell" else []
        if script and _SCRIPT.match(script[0][-TEXT_LIMIT:]):
            return Inside(["sh", *script])
        return Inside([], runs_nothing=True)
    if argv[verb] not in runner.verbs:
        return None
    first = verb + after_options(argv[verb:], runner.options)
    own = runner.verbs[argv[verb]]
    inside = list(argv[first + own :])
    if argv[verb] in runner.images and (not inside or inside[0].startswith("-")):
        return Inside(list(argv[first:]), runs_nothing=not runner.detached.isdisjoint(argv[verb:first]))
    if own or not runner.has_image or not inside:
        return Inside(inside)
    if _is_bound(inside[0], argv[:first]):
        return Inside([])
    return Inside(inside[1:] if inside[1:] and _is_command(inside) else inside)


def is_known(word: str) -> bool:
    """Return whether a word is the name of a command that runs other commands."""
    name = basename(word)
    return name in COMMANDS or name in ENGINES or interpreters.PYTHON.match(name) is not None


def after_options(argv: Sequence[str], with_value: frozenset[str]) -> int:
    """Return the position of the first word that is not an option."""
    position = 1
    while position < len(argv) and argv[position].startswith("-") and len(argv[position]) > 1:
        if argv[position] == "--":
            return position + 1
        position += 2 if argv[position] in with_value else 1
    return position


def _is_command(inside: Sequence[str]) -> bool:
    """Return whether `apptainer run IMAGE WORD ...` runs WORD as a command.

    Images that were made from Docker images run the word. Other images pass the word to their own program.
    """
    image, word = inside[0][-TEXT_LIMIT:], inside[1]
    if is_known(word):
        return True
    if not _IMAGE.match(image) or len(word) > TEXT_LIMIT:
        return False
    is_word = inside[2:] and _WORD.match(word) and word not in _OF_IMAGE
    return bool(_SCRIPT.match(word) or _IN_BIN.match(word) or is_word)


def _is_bound(image: str, options: Sequence[str]) -> bool:
    """Return whether the word in the image's place is a directory that is bound into the container.

    This happens if the image is an unknown variable, as in `-B "$DATA:/data" $IMAGE /data`.
    """
    return image.startswith("/") and any(f":{image}" in word for word in options)
