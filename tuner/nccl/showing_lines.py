# SPDX-License-Identifier: Apache-2.0
"""Output of `reprise rules nccl` about a tuner file: its mistakes, or the line that decides a call."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from reprise.tuner.errors import TunerError
from reprise.tuner.nccl.tuner_check import mistakes
from reprise.tuner.nccl.tuner_decision import Call, exists, matches
from reprise.tuner.nccl.tuner_lines import COLLECTIVES, numbered


@dataclass(frozen=True)
class Shown:
    """A result as lines for people and as a JSON document. `good`: the file has no mistakes."""

    lines: Sequence[str]
    document: Mapping[str, Any]
    good: bool = True


def load(file: Path) -> bytes:
    """Return the content of a file. Raise TunerError if it cannot be read."""
    try:
        return file.read_bytes()
    except OSError as error:
        raise TunerError(f"{file}: {error.strerror}: give the path of a tuner file") from error


def known(collective: str) -> str:
    """Return a collective's name. Raise TunerError if tuner files have no such collective."""
    if collective not in COLLECTIVES:
        raise TunerError(f"collective: {collective!r} does not exist: use one of {', '.join(COLLECTIVES)}")
    return collective


def check(data: bytes) -> Shown:
    """Return the mistakes in a file, or the number of its lines if there are none."""
    found = mistakes(data)
    count = sum(1 for _ in numbered(data))
    lines = [str(one) for one in found] or [f"no mistakes in {count} line{'s' * (count != 1)}"]
    return Shown(lines, {"lines": count, "mistakes": [vars(one) for one in found]}, not found)


def explain(data: bytes, call: Call) -> Shown:
    """Return the line that decides a call, among those whose combination NCCL has on some hardware."""
    for number, line in numbered(data):
        if matches(line, call) and exists(line.collective, line.algorithm, line.protocol):
            return Shown([f"line {number}: {line.text()}"], {"number": number, "line": vars(line)})
    return Shown(["no line decides: NCCL chooses"], {"number": None, "line": None})
