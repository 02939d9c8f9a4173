# SPDX-License-Identifier: Apache-2.0
"""What containers, environments and profilers with verbs run: `apptainer exec IMAGE COMMAND` and the like."""

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
"""First words that images of their own, such as those of BIDS, understand themselves."""


class Inside(NamedTuple):
    """What is run: `argv` is empty where that cannot be seen, or where nothing is run that ends by itself."""

    argv: list[str]
    runs_nothing: bool = False


def in_runner(argv: Sequence[str], runner: Runner) -> Inside | None:
    """What `apptainer exec IMAGE` or the like runs; None where the verb runs nothing."""
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
    """Whether a word names a command that runs another."""
    name = basename(word)
    return name in COMMANDS or name in ENGINES or interpreters.PYTHON.match(name) is not None


def after_options(argv: Sequence[str], with_value: frozenset[str]) -> int:
    """The position of the first word that is no option."""
    position = 1
    while position < len(argv) and argv[position].startswith("-") and len(argv[position]) > 1:
        if argv[position] == "--":
            return position + 1
        position += 2 if argv[position] in with_value else 1
    return position


def _is_command(inside: Sequence[str]) -> bool:
    """Whether `apptainer run IMAGE WORD ...` runs the word, as images made of Docker's do, and not the image's own
    program with it."""
    image, word = inside[0][-TEXT_LIMIT:], inside[1]
    if is_known(word):
        return True
    if not _IMAGE.match(image) or len(word) > TEXT_LIMIT:
        return False
    is_word = inside[2:] and _WORD.match(word) and word not in _OF_IMAGE
    return bool(_SCRIPT.match(word) or _IN_BIN.match(word) or is_word)


def _is_bound(image: str, options: Sequence[str]) -> bool:
    """Whether what stands where the image should is a directory of the container's own: `-B "$DATA:/data" $IMAGE /data`
    with an image that is not known."""
    return image.startswith("/") and any(f":{image}" in word for word in options)
