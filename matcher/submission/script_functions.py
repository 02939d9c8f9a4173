# SPDX-License-Identifier: Apache-2.0
"""Separation of a shell script's functions from the commands outside of functions."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import islice, takewhile

from reprise.matcher.submission.shell_syntax import Command, as_written
from reprise.matcher.submission.utilities import KEYWORDS

_FIRST_WORDS = 16


@dataclass
class Functions:
    """The functions of one shell; `bodies` has their commands by name, and `calls` the number of calls of each."""

    bodies: dict[str, list[Command]] = field(default_factory=dict)
    calls: Counter[str] = field(default_factory=Counter)

    def called_in(self, argv: Sequence[str]) -> int:
        """Return the position of the first function name among a command's arguments; 0 if there is none."""
        for position, word in enumerate(argv[1:_FIRST_WORDS], start=1):
            if word in self.bodies:
                return position
        return 0

    def outside(self, commands: Iterable[Command]) -> Iterator[Command]:
        """Yield the commands outside of functions, and collect the commands of functions in `bodies`."""
        body: list[Command] | None = None
        depth = 0
        for command in commands:
            first = as_written(command.words[0])
            if body is not None:
                body.append(command)
                if first in KEYWORDS:
                    words = [as_written(word) for word in islice(command.words, 3)]
                    depth += list(takewhile(KEYWORDS.__contains__, words)).count("{") - (first == "}")
                if depth <= 0:
                    body = None
            elif command.defines_function or (first == "function" and command.words[1:]):
                words = [as_written(word) for word in islice(command.words, 3)]
                body = self.bodies[words[not command.defines_function]] = []
                depth = words.count("{")  # `function name { command`
                body += [Command(command.words[words.index("{") + 1 :])] if depth else []
            else:
                yield command
