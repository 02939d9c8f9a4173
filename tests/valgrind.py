# SPDX-License-Identifier: Apache-2.0
"""Runs of programs under valgrind, and what it found in them."""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence
from dataclasses import dataclass

COMMAND = (
    "valgrind",
    "--leak-check=full",
    "--show-leak-kinds=definite",
    "--errors-for-leak-kinds=definite",
    "--track-origins=yes",
    "--keep-debuginfo=yes",  # of a plugin that is unloaded at the end
    "--num-callers=40",
)


@dataclass(frozen=True)
class Problem:
    """What is wrong, and where, innermost first: functions, with the line of those that have debugging information."""

    title: str
    frames: tuple[tuple[str, str], ...]

    def callees_of(self, sources: Collection[str]) -> tuple[str, ...]:
        """The functions down to the first one, which is left out, of these source files; all, where none is of them."""
        functions = []
        for function, line in self.frames:
            if line.partition(":")[0] in sources:
                break
            functions.append(function)
        return tuple(functions)

    def __str__(self) -> str:
        return "\n".join([self.title, *(f"  {function} {line}" for function, line in self.frames)])


def command(log: str, *argv: str) -> list[str]:
    """An argument list that runs `argv` with what valgrind says of it (and of its forks) in the file `log`."""
    return [*COMMAND, f"--log-file={log}", *argv]


def problems(log: str) -> list[Problem]:
    """Of a whole log. Raises AssertionError for one that is not whole."""
    by_process: dict[str, list[str]] = {}
    for process, text in re.findall(r"^==(\d+)== ?(.*)$", log, re.MULTILINE):
        by_process.setdefault(process, []).append(text)
    assert by_process, "valgrind said nothing"
    found = []
    for lines in by_process.values():
        assert any("ERROR SUMMARY" in line for line in lines), log
        for block in "\n".join(lines).split("\n\n"):
            found += read_block(block.replace("\n ", "\n").splitlines())
    return found


def read_block(lines: Sequence[str]) -> list[Problem]:
    frames = []
    titles = []
    for line in lines:
        frame = re.match(r"\s*(?:at|by) 0x[0-9A-F]+: (\S+)(?: \((in )?(.*)\))?$", line)
        if frame:
            frames.append((frame[1], "" if frame[2] else frame[3] or ""))
        else:
            titles.append(line.strip())
    return [Problem(titles[0] if titles else "", tuple(frames))] if frames else []
