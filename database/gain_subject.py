# SPDX-License-Identifier: Apache-2.0
"""Subject of a record's gain: the application's run time, or a different quantity that the campaign measured.

The gain of a rules file, which selects an MPI library's algorithms for collective operations, is measured with a
benchmark of single collective calls. Such a gain says little about the run time of a job, which also computes and calls
other collectives. Therefore, a gain is always shown with its subject.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from functools import lru_cache
from typing import Any

GAIN_OF = "gain_of"
"""Key in a record's parametrization whose value describes the subject of its gain, if the subject is not the run
time."""
RULES = "rules"
"""Key in a record's parametrization whose value has the benchmark's results, one row for each collective and size."""
SUBJECT_SQL = f"json_extract(parametrization, '$.{GAIN_OF}', '$.{RULES}')"
"""SQL expression for the text that `subject_in` expects."""
OF_RUN_TIME_SQL = (
    f"json_type(parametrization, '$.{GAIN_OF}') IS NULL AND json_type(parametrization, '$.{RULES}') IS NULL"
)
"""SQL condition that is true for records whose gain refers to the application's run time."""
WITHDRAWN = "by a withdrawn method"
"""Suffix of the subject of a gain that Reprise 0.1 measured, by the mean over ranks and in a single session.

Some rules that were best by this method slowed down every job (docs/explanation/openmpi.md).
"""
BY_MEAN, WHOLE = "default_s", "default"
"""JSON keys in a row of rules. The first has the mean time with the library's default, in seconds. The second has the
complete measurement of this default, which Reprise 0.1 did not store."""
TAKEN_OVER_BY_MEAN = "by_mean"
"""JSON key in a row of rules that was copied from a record of Reprise 0.1, which had no complete measurement."""
SIZES = 3
"""Maximum number of message sizes that are listed for one collective; if there are more sizes, only their range is
given."""
COLLECTIVES = 3
"""Maximum number of collectives that are listed; if there are more, only the number of the rest is given."""

_UNITS = ("B", "KiB", "MiB", "GiB")
_STEP = 1024


def subject(parametrization: Mapping[str, Any]) -> str:
    """Return the subject of a gain, e.g. `bcast of 4 and 64 KiB in a benchmark`; "" for the application's run time."""
    return _subject(parametrization.get(GAIN_OF), parametrization.get(RULES))


@lru_cache(maxsize=1024)
def subject_in(text: str) -> str:
    """Return the subject of a gain, given the text that SUBJECT_SQL yields for a record's row."""
    try:
        named, rules = json.loads(text)
    except ValueError:
        return ""
    return _subject(named, rules)


def measured_gain(subject: str) -> str:
    """Return the words before the number of a gain, e.g. `measured gain of bcast of 4 KiB in a benchmark: `.

    The quantity comes before the number, so that nobody takes the number for the gain of their job.
    """
    return f"measured gain of {subject or 'the tuned job'}: "


def is_withdrawn(subject: str) -> bool:
    """Return whether a gain with this subject was measured by the withdrawn method of Reprise 0.1 (see WITHDRAWN)."""
    return subject.endswith(WITHDRAWN)


def promise(gain: float, gain_low: float, subject: str) -> str:
    """Return a phrase, for a job's user, that states the gain of the settings, its lower bound and its subject."""
    if is_withdrawn(subject):
        return f"unknown gain (measured for {subject})"
    return f"{measured_gain(subject)}{gain:.0%} (at least {gain_low:.0%})"


def _subject(named: Any, rules: Any) -> str:
    if isinstance(named, str) and named:
        return named
    if not isinstance(rules, list):
        return ""
    applied = [row for row in rules if isinstance(row, dict) and row.get("applied", True)]
    how = f" {WITHDRAWN}" if any(map(_is_by_mean, applied)) else ""
    return f"{_calls_text(map(_call, applied))} in a benchmark{how}"


def _is_by_mean(row: Mapping[str, Any]) -> bool:
    return bool(row.get(TAKEN_OVER_BY_MEAN)) or (BY_MEAN in row and WHOLE not in row)


def _call(row: Mapping[str, Any]) -> tuple[str, int]:
    """Return the collective and the size in a problem's name such as `bcast/65536` or `4x1/bcast/65536`."""
    *_, collective, size = ["", *str(row.get("problem", "")).split("/")]
    return collective, int(size) if size.isdecimal() else 0


def _calls_text(calls: Iterable[tuple[str, int]]) -> str:
    sizes: dict[str, set[int]] = {}
    for collective, size in calls:
        sizes.setdefault(collective, set()).add(size)
    texts = [
        f"{collective} of {_sizes_text(sorted(of))}" if any(of) else collective
        for collective, of in sizes.items()
        if collective
    ]
    more = len(texts) - COLLECTIVES
    if more > 0:
        texts[COLLECTIVES:] = [f"{more} more collective{'s' * (more > 1)}"]
    return _listed(texts) or "single calls"


def _sizes_text(sizes: Sequence[int]) -> str:
    shown = [_scaled(size) for size in sizes]
    if len(shown) > SIZES:
        return f"{' '.join(shown[0])} to {' '.join(shown[-1])}"
    alike = len({unit for _, unit in shown}) == 1
    return (
        f"{_listed([number for number, _ in shown])} {shown[0][1]}"
        if alike
        else _listed([" ".join(one) for one in shown])
    )


def _scaled(size: int) -> tuple[str, str]:
    value, unit = float(size), 0
    while value >= _STEP and unit < len(_UNITS) - 1:
        value, unit = value / _STEP, unit + 1
    return f"{value:.4g}", _UNITS[unit]


def _listed(words: Sequence[str]) -> str:
    return " and ".join(part for part in (", ".join(words[:-1]), *words[-1:]) if part)
