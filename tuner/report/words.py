# SPDX-License-Identifier: Apache-2.0
"""Format numbers, settings and names for people."""

from __future__ import annotations

import math
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any

from reprise.tuner.report.progress import percent

LONG = 60  # maximum number of characters of a single value to show


def interval(measured: Mapping[str, Any]) -> str:
    """Return a confidence interval as `mean ± half-width UNIT`.

    Both numbers are rounded to the second significant digit of the half-width, but never more coarsely than to whole
    numbers.
    """
    mean, half, unit = measured["mean"], (measured["high"] - measured["low"]) / 2, measured["unit"]
    factor, unit = _scale(mean, unit)
    mean, half = mean * factor, half * factor
    decimals = min(6, max(0, 1 - math.floor(math.log10(half or abs(mean) / 100 or 1))))
    return f"{_plain(mean, decimals)} ± {_plain(half, decimals)} {unit}"


def single(value: float, unit: str) -> str:
    """Return a value as text with four significant digits and its unit."""
    factor, unit = _scale(value, unit)
    return f"{value * factor:.4g} {unit}"


def scale_of(values: list[float], unit: str) -> tuple[float, str]:
    """Return the factor that converts values to a unit that suits the largest of them, and the name of the unit."""
    return _scale(max(values), unit) if values else (1.0, unit)


def gain(found: Mapping[str, Any]) -> str:
    """Return a gain with its bounds as text, in percent."""
    return f"{percent(found['gain'])} ({100 * found['gain_low']:+.1f} to {100 * found['gain_high']:+.1f})"


def settings(point: Mapping[str, Any], usual: Mapping[str, Any] | None = None) -> str:
    """Return a parametrization as one line of text; if `usual` is given, with only the values that differ from it."""
    if usual and not (point := {name: value for name, value in point.items() if usual.get(name) != value}):
        return "the default"
    return " ".join(f"{printable(name)}={shown(value)}" for name, value in point.items())


def shown(value: object) -> str:
    """Return a value as printable text of at most LONG characters."""
    text = printable(str(value))
    return text if len(text) <= LONG else text[: LONG - 1] + "…"


def printable(text: str) -> str:
    """Replace unprintable characters with �, since names from files may contain terminal control codes."""
    return "".join(character if character.isprintable() else "�" for character in text)


def hours(value: float) -> str:
    """Return a number of hours or node-hours as text with three significant digits."""
    return f"{value:.3g}"


def moment(seconds: float) -> str:
    """Return a Unix time in seconds as date and time in UTC."""
    return f"{datetime.fromtimestamp(seconds, UTC):%F %R} UTC"


def span(seconds: float) -> str:
    """Return a time span, given in seconds, as text in rounded seconds, minutes or hours."""
    if seconds < 120:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 7200 else f"{seconds / 3600:.1f} h"


def _scale(value: float, unit: str) -> tuple[float, str]:
    if unit == "s" and 0 < abs(value) < 1:
        return (1e3, "ms") if abs(value) >= 1e-3 else (1e6, "µs")
    return 1.0, unit


def _plain(number: float, decimals: int) -> str:
    text = f"{number:.{decimals}f}"
    return text.rstrip("0").rstrip(".") if decimals else text
