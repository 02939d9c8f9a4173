# SPDX-License-Identifier: Apache-2.0
"""Findings of the doctor, printed as lines for people or as JSON for programs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

JSON_VERSION = 1  # version of the output of `reprise doctor --json`


class Level(StrEnum):
    """Level of a finding. WARNING: everything works, but perhaps not as intended. PROBLEM: something does not work."""

    OK = "ok"
    WARNING = "warning"
    PROBLEM = "problem"


@dataclass(frozen=True)
class Finding:
    """One line of the report, with the check, the level, the observation and, unless the level is OK, the remedy."""

    check: str
    level: Level
    text: str
    remedy: str = ""


def ok(check: str, text: str) -> Finding:
    """Return a finding with level OK."""
    return Finding(check, Level.OK, text)


def warning(check: str, text: str, remedy: str) -> Finding:
    """Return a finding with level WARNING."""
    return Finding(check, Level.WARNING, text, remedy)


def problem(check: str, text: str, remedy: str) -> Finding:
    """Return a finding with level PROBLEM."""
    return Finding(check, Level.PROBLEM, text, remedy)


def from_error(check: str, error: Exception | str, remedy: str) -> Finding:
    """Return a problem with the text of an error; `remedy` is used if the text does not end with a remedy."""
    text, colon, words = str(error).rpartition(": ")
    return problem(check, text, words) if colon else problem(check, words or type(error).__name__, remedy)


def is_healthy(findings: Sequence[Finding]) -> bool:
    """Return True if no finding is a problem."""
    return all(finding.level is not Level.PROBLEM for finding in findings)


def lines(findings: Sequence[Finding]) -> list[str]:
    """Return a line for each finding, with level and check in columns."""
    width = max((len(finding.check) for finding in findings), default=0)
    return [
        f"{finding.level:<7}  {finding.check:<{width}}  {_one_line(finding.text)}"
        + (f": {_one_line(finding.remedy)}" if finding.remedy else "")
        for finding in findings
    ]


def document(findings: Sequence[Finding]) -> dict[str, Any]:
    """Return the findings as data for JSON."""
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
