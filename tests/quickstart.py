# SPDX-License-Identifier: Apache-2.0
"""The blocks of docs/tutorial/quickstart.md, for tests: files to write, commands to type, and their output."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

QUICKSTART = Path(__file__).parents[1] / "docs/tutorial/quickstart.md"


@dataclass(frozen=True)
class Block:
    """A block of the page: either a file and its text, or commands, each with some of the lines that it prints."""

    file: str = ""
    text: str = ""
    commands: tuple[tuple[str, tuple[str, ...]], ...] = ()

    @property
    def is_for_packages(self) -> bool:
        return any(command.startswith("apt-get ") for command, _ in self.commands)


def blocks() -> list[Block]:
    """Return all blocks of the page in order."""
    found = re.findall(r"^```(\w*)\n(.*?)^```$", QUICKSTART.read_text(), re.MULTILINE | re.DOTALL)
    return [_block(language, text) for language, text in found]


def shape(line: str) -> str:
    """Return a printed line without the parts that differ from run to run.

    These parts are numbers, hashes (with or without an ellipsis), and the list of message sizes that gained in a
    benchmark.
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
