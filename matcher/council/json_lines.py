# SPDX-License-Identifier: Apache-2.0
"""Files of JSON lines whose first line has the version of their form."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TypeVar

from pydantic import BaseModel, StrictInt, ValidationError

from reprise.config import Section, first_problem
from reprise.matcher.errors import MatcherError

LONGEST = 4096
"""Maximum length of a line in bytes. A line takes at most 300; the cap keeps a wrong file from filling the memory."""

T = TypeVar("T", bound=BaseModel)


class _Header(Section):
    version: StrictInt


def read(
    lines: Iterable[bytes], name: str, content: str, version: int, model: type[T], error: type[MatcherError]
) -> Iterator[tuple[str, T]]:
    """Return the lines of a file called `name` behind its first one, each with the text that names it in messages.

    `content` is what the file has, in the plural. Raise `error` with one line, which names the number of the first
    wrong line.
    """
    numbered = enumerate(lines, 1)
    _, first = next(numbered, (1, b""))
    found = _parsed(_Header, first, f"{name}: line 1", error).version
    if found != version:
        raise error(f"{name}: {content} have version {found}, and {version} is read: record them again")
    for number, text in numbered:
        where = f"{name}: line {number}"
        yield where, _parsed(model, text, where, error)


def _parsed(model: type[T], text: bytes, where: str, error: type[MatcherError]) -> T:
    if len(text) > LONGEST:
        raise error(f"{where}: is longer than {LONGEST} bytes: correct or remove it")
    try:
        return model.model_validate_json(text)
    except ValidationError as problem:
        raise error(f"{where}: {first_problem(problem, model)}; correct or remove it") from problem
