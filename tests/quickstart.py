# SPDX-License-Identifier: Apache-2.0
"""docs/tutorial/quickstart.md in a form for tests: the files and commands of a newcomer, and their output."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

QUICKSTART = Path(__file__).parents[1] / "docs/tutorial/quickstart.md"


@dataclass(frozen=True)
class Block:
    """A file with its text, or commands, each with lines that it prints among others."""

    file: str = ""
    text: str = ""
    commands: tuple[tuple[str, tuple[str, ...]], ...] = ()

    @property
    def is_for_packages(self) -> bool:
        return any(command.startswith("apt-get ") for command, _ in self.commands)


def blocks() -> list[Block]:
    """Return all blocks of the page, in its order."""
    found = re.findall(r"^```(\w*)\n(.*?)^```$", QUICKSTART.read_text(), re.MULTILINE | re.DOTALL)
    return [_block(language, text) for language, text in found]


def shape(line: str) -> str:
    """Return a line without its variable parts.

    These are digits of numbers, hashes with or without an ellipsis, and which of several sizes gained.
    """
    folded = re.sub(r"\b[0-9a-f]{8,}…?|\d[\d.]*", "0", line).strip()
    return re.sub(r" of 0 [^,]* in a benchmark", " of 0 in a benchmark", folded)


def _block(language: str, text: str) -> Block:
    lines = text.splitlines()
    if language == "yaml":
        return Block(lines[0].removeprefix("# "), text)
    if language != "console":
        return Block(commands=tuple((_command(line), ()) for line in lines))
    commands: list[tuple[str, tuple[str, ...]]] = []
    for line in lines:
        if line.startswith("$ "):
            commands.append((_command(line[2:]), ()))
        elif line != "...":
            typed, printed = commands[-1]
            commands[-1] = (typed, (*printed, line))
    return Block(commands=tuple(commands))


def _command(line: str) -> str:
    """Return a command line without its comment."""
    return re.split(r"\s{2,}# ", line)[0]
