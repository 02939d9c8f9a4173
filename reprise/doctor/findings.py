# SPDX-License-Identifier: Apache-2.0
"""What the doctor says: findings, as lines for a person and as JSON for a program."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

JSON_VERSION = 1  # of the output of `reprise doctor --json`


class Level(StrEnum):
    """WARNING: it works, but perhaps not as meant. PROBLEM: something does not work."""

    OK = "ok"
    WARNING = "warning"
    PROBLEM = "problem"


@dataclass(frozen=True)
class Finding:
    """One line of the report: which check, how it went, what was seen and, unless OK, what to do."""

    check: str
    level: Level
    text: str
    remedy: str = ""


def ok(check: str, text: str) -> Finding:
    return Finding(check, Level.OK, text)


def warning(check: str, text: str, remedy: str) -> Finding:
    return Finding(check, Level.WARNING, text, remedy)


def problem(check: str, text: str, remedy: str) -> Finding:
    return Finding(check, Level.PROBLEM, text, remedy)


def from_error(check: str, error: Exception | str, remedy: str) -> Finding:
    """A problem in the words of an error of ours, which end in the remedy; `remedy` is for errors that have none."""
    text, colon, words = str(error).rpartition(": ")
    return problem(check, text, words) if colon else problem(check, words or type(error).__name__, remedy)


def is_healthy(findings: Sequence[Finding]) -> bool:
    """Whether nothing was found that does not work."""
    return all(finding.level is not Level.PROBLEM for finding in findings)


def lines(findings: Sequence[Finding]) -> list[str]:
    """One line per finding, level and check in columns."""
    width = max((len(finding.check) for finding in findings), default=0)
    return [
        f"{finding.level:<7}  {finding.check:<{width}}  {_one_line(finding.text)}"
        + (f": {_one_line(finding.remedy)}" if finding.remedy else "")
        for finding in findings
    ]


def document(findings: Sequence[Finding]) -> dict[str, Any]:
    """The report as JSON-ready data."""
    return {
        "version": JSON_VERSION,
        "ok": is_healthy(findings),
        "findings": [
            {"check": finding.check, "level": finding.level.value, "text": finding.text, "remedy": finding.remedy}
            for finding in findings
        ],
    }


def _one_line(text: str) -> str:
    return " ".join(text.split())
