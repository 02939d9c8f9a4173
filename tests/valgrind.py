# SPDX-License-Identifier: Apache-2.0
"""Functions that run programs under valgrind and read valgrind's findings."""

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
    "--keep-debuginfo=yes",  # so that stacks in an unloaded plugin are readable
    "--num-callers=40",
)


@dataclass(frozen=True)
class Problem:
    """A finding with its stack, innermost function first; `frames` contains (function, line) pairs, "" if unknown."""

    title: str
    frames: tuple[tuple[str, str], ...]

    def callees_of(self, sources: Collection[str]) -> tuple[str, ...]:
        """Return the functions that the innermost function in these source files called, directly or indirectly.

        If no function of the stack is in these files, return all functions. The innermost function comes first.
        """
        functions = []
        for function, line in self.frames:
            if line.partition(":")[0] in sources:
                break
            functions.append(function)
        return tuple(functions)

    def __str__(self) -> str:
        return "\n".join([self.title, *(f"  {function} {line}" for function, line in self.frames)])


def command(log: str, *argv: str) -> list[str]:
    """Return an argument list that runs `argv` under valgrind, and writes findings about it and its forks to `log`."""
    return [*COMMAND, f"--log-file={log}", *argv]


def problems(log: str) -> list[Problem]:
    """Return the findings in the text of a log; raise AssertionError if the log is incomplete."""
    by_process: dict[str, list[str]] = {}
    for process, text in re.findall(r"^==(\d+)== ?(.*)$", log, re.MULTILINE):
        by_process.setdefault(process, []).append(text)
    assert by_process, "valgrind wrote nothing to its log"
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
