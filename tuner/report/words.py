# SPDX-License-Identifier: Apache-2.0
"""Numbers and names as people read them."""

from __future__ import annotations

import math
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any

from reprise.tuner.report.progress import percent

LONG = 60  # characters of a single value that are shown


def interval(measured: Mapping[str, Any]) -> str:
    """Mean and half the interval with the digits that the interval leaves: two of its own, as far as the point."""
    mean, half, unit = measured["mean"], (measured["high"] - measured["low"]) / 2, measured["unit"]
    factor, unit = _scale(mean, unit)
    mean, half = mean * factor, half * factor
    decimals = min(6, max(0, 1 - math.floor(math.log10(half or abs(mean) / 100 or 1))))
    return f"{_plain(mean, decimals)} ± {_plain(half, decimals)} {unit}"


def single(value: float, unit: str) -> str:
    """One value, with four digits."""
    factor, unit = _scale(value, unit)
    return f"{value * factor:.4g} {unit}"


def scale_of(values: list[float], unit: str) -> tuple[float, str]:
    """The factor and unit in which these values are read best together."""
    return _scale(max(values), unit) if values else (1.0, unit)


def gain(found: Mapping[str, Any]) -> str:
    return f"{percent(found['gain'])} ({100 * found['gain_low']:+.1f} to {100 * found['gain_high']:+.1f})"


def settings(point: Mapping[str, Any], usual: Mapping[str, Any] | None = None) -> str:
    """A parametrization on one line; with `usual` only what differs from that."""
    if usual and not (point := {name: value for name, value in point.items() if usual.get(name) != value}):
        return "the default"
    return " ".join(f"{printable(name)}={shown(value)}" for name, value in point.items())


def shown(value: object) -> str:
    text = printable(str(value))
    return text if len(text) <= LONG else text[: LONG - 1] + "…"


def printable(text: str) -> str:
    """Names come from files: what would move a terminal's cursor, or is no text at all, is shown as �."""
    return "".join(character if character.isprintable() else "�" for character in text)


def hours(value: float) -> str:
    """A time span or node-hours, with three digits."""
    return f"{value:.3g}"


def moment(seconds: float) -> str:
    return f"{datetime.fromtimestamp(seconds, UTC):%F %R} UTC"


def span(seconds: float) -> str:
    """How long ago, roughly."""
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
